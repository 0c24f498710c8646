"""Share links: found by their token alone, and over at their minute, by hand and with their maker's right."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select

from engine.design.project import Project, revise_project
from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError, SharingForbiddenError
from pipeline.store.catalog.ids import new_id, new_sdk_key
from pipeline.store.catalog.keys import ApiKey
from pipeline.store.catalog.schema import share_links
from pipeline.store.catalog.sharing.share_link_repository import KEPT_AFTER_END, MOST_OPEN, ShareLink
from tests.builders import a_project, an_experiment

MONTH = timedelta(days=30)
MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with an experiment, and the key of an admin that makes links to it."""

    catalog: Catalog
    project: Project
    experiment_id: str
    key: ApiKey
    now: datetime = field(default_factory=utc_now)

    def share(self, *, now: datetime | None = None, shows_money: bool = False) -> tuple[ShareLink, str]:
        return self.catalog.share_links.create(
            self.project,
            self.experiment_id,
            self.key.id,
            lifetime=MONTH,
            shows_money=shows_money,
            now=now or self.now,
        )

    def is_open(self, token: str) -> bool:
        return self.catalog.share_links.find(token, now=self.now + MOMENT) is not None

    def change_settings(self, **settings: object) -> None:
        revise = partial(revise_project, fields={"settings": settings}, now=self.now)
        self.catalog.projects.change(self.project.account_id, self.project.id, revise, actor="test")

    def list(self) -> list[ShareLink]:
        return self.catalog.share_links.of_experiment(self.experiment_id)


@pytest.fixture
def shop(catalog: Catalog) -> Shop:
    account, _, _ = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    admin = catalog.members.add(account.id, "ada@acme.example", "Ada", "admin")
    key, _ = catalog.keys.create(account.id, admin.id, "Dashboard", ["experiments:write"])
    project = a_project(id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key())
    catalog.projects.create(project, actor="test")
    drafted = an_experiment(project_id=project.id)
    return Shop(
        catalog, project, catalog.experiments.create(project.id, lambda _: drafted, actor="test").id, key
    )


def test_a_link_is_found_by_its_token_which_is_not_stored(shop: Shop) -> None:
    link, token = shop.share(shows_money=True)
    assert len(token) == 43
    assert shop.catalog.share_links.find(token, now=shop.now) == link
    assert (link.member_name, link.shows_money, link.account_id) == ("Ada", True, shop.project.account_id)
    for forged in ("", token[:-1], token + "x", link.id, "x" * 100_000, "\0", "\ud800"):
        assert shop.catalog.share_links.find(forged, now=shop.now) is None
    with shop.catalog.database.read() as connection:
        assert token not in str(connection.execute(select(share_links)).all())
    assert token not in str([*shop.catalog.audit.of(link.id), *shop.list()])


def test_a_link_ends_at_its_moment(shop: Shop) -> None:
    link, token = shop.share()
    assert link.expires_at == shop.now + MONTH
    assert shop.catalog.share_links.find(token, now=link.expires_at - MOMENT) == link
    assert shop.catalog.share_links.find(token, now=link.expires_at) is None
    assert (link.is_open(link.expires_at - MOMENT), link.is_open(link.expires_at)) == (True, False)


def test_a_revoked_link_is_over_and_others_go_on(shop: Shop) -> None:
    (link, token), (_, other) = shop.share(), shop.share()
    revoke = partial(
        shop.catalog.share_links.revoke, shop.project.account_id, shop.experiment_id, link.id, actor="key_1"
    )
    ended = revoke(now=shop.now)
    assert revoke(now=shop.now + MONTH / 2) == ended
    assert (shop.is_open(token), shop.is_open(other)) == (False, True)
    assert [entry.actor for entry in shop.catalog.audit.of(link.id)] == [shop.key.id, "key_1"]
    with pytest.raises(NotFoundError, match="share link"):
        shop.catalog.share_links.revoke(
            shop.project.account_id, "exp_other", link.id, actor="key_1", now=shop.now
        )


def _revoke_key(shop: Shop) -> None:
    shop.catalog.keys.revoke(shop.project.account_id, shop.key.id, now=shop.now)


def _remove_member(shop: Shop) -> None:
    shop.catalog.members.remove(shop.project.account_id, shop.key.member_id)


def _lower_role(shop: Shop) -> None:
    shop.catalog.members.update(shop.project.account_id, shop.key.member_id, role="member")


def _forbid(shop: Shop) -> None:
    shop.change_settings(share_links=False)


def _revoke_all(shop: Shop) -> None:
    assert shop.catalog.share_links.revoke_all(shop.project.account_id, actor="key_1", now=shop.now) == 1
    assert shop.catalog.share_links.revoke_all(shop.project.account_id, actor="key_1", now=shop.now) == 0


def _delete_project(shop: Shop) -> None:
    shop.catalog.projects.delete(shop.project.account_id, shop.project.id, actor="test")


def _delete_experiment(shop: Shop) -> None:
    shop.catalog.experiments.delete(shop.project.id, shop.experiment_id, lambda found: found, actor="test")


def _end_subscription(shop: Shop) -> None:
    shop.catalog.accounts.update(shop.project.account_id, subscription_status="canceled")


@pytest.mark.parametrize(
    ("end", "is_audited"),
    [
        (_revoke_key, True),
        (_remove_member, True),
        (_lower_role, True),
        (_forbid, True),
        (_revoke_all, True),
        (_delete_project, False),
        (_delete_experiment, False),
        (_end_subscription, False),
    ],
)
def test_a_link_ends_with_the_right_of_its_maker(
    shop: Shop, end: Callable[[Shop], None], *, is_audited: bool
) -> None:
    link, token = shop.share()
    assert shop.is_open(token)
    end(shop)
    assert not shop.is_open(token)
    endings = [entry for entry in shop.catalog.audit.of(link.id) if "revoked_at" in entry.changes]
    assert len(endings) == is_audited


def test_what_leaves_the_right_as_it_is_ends_no_link(shop: Shop) -> None:
    _, token = shop.share()
    shop.catalog.members.update(shop.project.account_id, shop.key.member_id, name="Ada L.", role="owner")
    shop.change_settings(share_links=True, keep_nights=3)
    other, _ = shop.catalog.keys.create(
        shop.project.account_id, shop.key.member_id, "Other", ["projects:read"]
    )
    shop.catalog.keys.revoke(shop.project.account_id, other.id, now=shop.now)
    assert shop.is_open(token)
    assert shop.list()[0].member_name == "Ada L."


def test_links_that_a_project_forbids_stay_ended_once_it_allows_links_again(shop: Shop) -> None:
    _, token = shop.share()
    shop.change_settings(share_links=False)
    with pytest.raises(SharingForbiddenError, match="share_links"):
        shop.share()
    shop.change_settings(share_links=None)
    assert not shop.is_open(token)
    assert shop.is_open(shop.share()[1])


def test_a_revoked_key_makes_no_link(shop: Shop) -> None:
    _revoke_key(shop)
    with pytest.raises(NotFoundError):
        shop.share()


def test_an_experiment_has_a_bounded_number_of_links_and_old_ones_are_removed(shop: Shop) -> None:
    links = [shop.share()[0] for _ in range(MOST_OPEN)]
    with pytest.raises(InvalidRecordError, match="20 links"):
        shop.share()
    assert shop.catalog.share_links.open_of_account(shop.project.account_id, now=shop.now).total == MOST_OPEN
    later = links[0].expires_at + KEPT_AFTER_END
    assert len(shop.list()) == MOST_OPEN
    newest, _ = shop.share(now=later)
    assert shop.list() == [newest]


def test_lists_are_newest_first_and_those_of_an_account_have_open_links_alone(shop: Shop) -> None:
    early = datetime(2026, 11, 1, tzinfo=UTC)
    first, second, third = (shop.share(now=early + timedelta(days=day))[0] for day in range(3))
    assert shop.list() == [third, second, first]
    paged = shop.catalog.share_links.open_of_account(shop.project.account_id, now=early, page=2, per_page=2)
    assert ([*paged.items], paged.total) == ([first], 3)
    listed = shop.catalog.share_links.open_of_account(shop.project.account_id, now=first.expires_at)
    assert [*listed.items] == [third, second]
    assert shop.catalog.share_links.open_of_account("acc_other", now=early).total == 0
