from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest

from engine.design.project import Project, rotate_sdk_key
from pipeline.clock import utc_now
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError, PlanLimitError
from pipeline.store.catalog.ids import new_id, new_sdk_key
from tests.builders import NOW, a_project


def saved(catalog: Catalog, account: Account, **overrides: object) -> Project:
    project = a_project(id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key(), **overrides)
    return catalog.projects.create(project, actor="test")


def test_project_comes_back_as_it_went_in(catalog: Catalog, account: Account) -> None:
    project = saved(
        catalog,
        account,
        name="Läden 🛒",
        reporting_timezone="America/New_York",
        settings={"revenue_currency": "EUR", "domains": ["shop.example"]},
        environments=({"key": "live", "name": "Live", "hostnames": ["shop.example"]},),
    )
    found = catalog.projects.get(account.id, project.id)
    assert found == replace(project, environments=found.environments)
    assert list(found.environments) == list(project.environments)
    assert catalog.projects.find(project.id) == catalog.projects.by_sdk_key(project.sdk_key) == found


def test_project_of_another_account_is_not_found(catalog: Catalog, account: Account) -> None:
    project = saved(catalog, account)
    other, _, _ = catalog.accounts.create("Other", "owner@other.example")
    with pytest.raises(NotFoundError):
        catalog.projects.get(other.id, project.id)
    with pytest.raises(NotFoundError):
        catalog.projects.change(other.id, project.id, lambda found: found, actor="test")


def test_plan_allows_so_many_projects_and_no_more(catalog: Catalog, account: Account) -> None:
    catalog.accounts.update(account.id, max_projects=2)
    saved(catalog, account)
    saved(catalog, account)
    with pytest.raises(PlanLimitError) as caught:
        saved(catalog, account)
    assert caught.value.max_projects == 2
    assert catalog.projects.count(account.id) == 2


def test_names_are_those_of_an_account_in_their_order(catalog: Catalog, account: Account) -> None:
    shop, stores, blog = (saved(catalog, account, name=name) for name in ("shop", "Läden 🛒", "Blog"))
    other, _, _ = catalog.accounts.create("Other", "owner@names.example")
    saved(catalog, other, name="Elsewhere")
    assert catalog.projects.names(account.id) == [(one.id, one.name) for one in (blog, stores, shop)]
    assert catalog.projects.names(account.id, only=(shop.id,)) == [(shop.id, "shop")]


def test_projects_are_paged_last_updated_first(catalog: Catalog, account: Account) -> None:
    projects = [saved(catalog, account, updated_at=NOW + timedelta(hours=hour)) for hour in (2, 3, 1)]
    page = catalog.projects.page(account.id, page=1, per_page=2)
    assert [project.id for project in page.items] == [projects[1].id, projects[0].id]
    assert page.total == 3
    rest = catalog.projects.page(account.id, page=2, per_page=2)
    assert [project.id for project in rest.items] == [projects[2].id]


def test_page_far_beyond_the_end_is_empty(catalog: Catalog, account: Account) -> None:
    saved(catalog, account)
    page = catalog.projects.page(account.id, page=10**30, per_page=100)
    assert (list(page.items), page.total) == ([], 1)


def test_listing_can_be_restricted_to_some_projects(catalog: Catalog, account: Account) -> None:
    first, _ = saved(catalog, account), saved(catalog, account)
    page = catalog.projects.page(account.id, only=[first.id, "prj_other"])
    assert [project.id for project in page.items] == [first.id]
    assert page.total == 1


def test_change_is_saved_and_audited(catalog: Catalog, account: Account, project_id: str) -> None:
    catalog.projects.change(
        account.id, project_id, lambda project: replace(project, name="Renamed"), actor="key_1"
    )
    assert catalog.projects.find(project_id).name == "Renamed"
    entry = catalog.audit.of(project_id)[-1]
    assert (entry.actor, entry.changes) == ("key_1", {"name": ["Shop", "Renamed"]})


def test_every_project_is_listed_for_the_jobs(catalog: Catalog, account: Account) -> None:
    other, _, _ = catalog.accounts.create("Other", "owner@other.example")
    ids = {saved(catalog, account).id, saved(catalog, other).id}
    assert {project.id for project in catalog.projects.all()} == ids


def test_replaced_key_finds_its_project_until_it_ends(
    catalog: Catalog, account: Account, project_id: str
) -> None:
    old, now = catalog.projects.find(project_id).sdk_key, utc_now()

    def rotate(*, key: str, hours: int, now: datetime) -> None:
        decide = partial(rotate_sdk_key, fields={"grace_period_hours": hours}, new_key=key, now=now)
        catalog.projects.change(account.id, project_id, decide, actor="key_1")

    rotate(key="pk_2", hours=2, now=now - timedelta(hours=1))
    rotate(key="pk_3", hours=1, now=now)
    found = {catalog.projects.by_sdk_key(key).id for key in (old, "pk_2", "pk_3")}
    assert found == {project_id}
    # As a day later, with nothing written meanwhile.
    long_ago = partial(
        rotate_sdk_key, fields={"grace_period_hours": 1}, new_key="pk_4", now=now - timedelta(days=1)
    )
    catalog.projects.change(account.id, project_id, long_ago, actor="key_1")
    for key in (old, "pk_2", "pk_3"):
        with pytest.raises(NotFoundError):
            catalog.projects.by_sdk_key(key)
    assert catalog.projects.by_sdk_key("pk_4").previous_sdk_keys


def test_replaced_keys_of_two_projects_stay_apart(
    catalog: Catalog, account: Account, project_id: str
) -> None:
    other = saved(catalog, account)
    for project, key in ((project_id, "pk_2"), (other.id, "pk_9")):
        rotate = partial(rotate_sdk_key, fields={}, new_key=key, now=utc_now())
        catalog.projects.change(account.id, project, rotate, actor="key_1")
    assert catalog.projects.by_sdk_key(other.sdk_key).id == other.id
    assert catalog.projects.by_sdk_key("pk_9").id == other.id
