from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError
from pipeline.store.catalog.keys import SCOPES, ApiKey, RefusedKey
from pipeline.store.catalog.schema import api_keys

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def a_key(catalog: Catalog, account: Account, **overrides: object) -> tuple[ApiKey, str]:
    holder = catalog.members.accepted(account.id)[0]
    arguments = {"name": "Key", "scopes": ["projects:read"], **overrides}
    return catalog.keys.create(account.id, holder.id, **arguments)  # type: ignore[arg-type] # any override


def test_first_token_is_an_account_wide_live_key_with_every_scope(catalog: Catalog) -> None:
    account, owner, token = catalog.accounts.create("Acme", "owner@acme.example")
    key = catalog.keys.find_by_token(token, now=NOW)
    assert isinstance(key, ApiKey)
    assert (key.account_id, key.member_id) == (account.id, owner.id)
    assert (key.environment, key.scopes, key.is_account_wide) == ("live", SCOPES, True)


def test_only_a_digest_of_the_token_is_kept(catalog: Catalog, account: Account) -> None:
    _, token = a_key(catalog, account)
    secret = token.rpartition("_")[2]
    with catalog.database.read() as connection:
        rows = connection.execute(select(api_keys)).all()
    assert secret not in repr(rows)


def test_tampered_token_is_nobodys(catalog: Catalog, account: Account) -> None:
    _, token = a_key(catalog, account)
    flipped = token[:-1] + ("0" if token[-1] != "0" else "1")
    for wrong in ("", "svc", "svc_live__", "svc_live_x_y", token[:-1], token + "0", flipped, token.upper()):
        assert isinstance(catalog.keys.find_by_token(wrong, now=NOW), RefusedKey)


def test_revoked_key_stops_at_once_and_stays_listed(catalog: Catalog, account: Account) -> None:
    key, token = a_key(catalog, account)
    catalog.keys.revoke(account.id, key.id, now=NOW)
    assert catalog.keys.find_by_token(token, now=NOW) == RefusedKey(
        "revoked", catalog.keys.of_account(account.id)[0]
    )
    assert catalog.keys.of_account(account.id)[0].revoked_at == NOW


def test_key_revoked_twice_keeps_the_first_time(catalog: Catalog, account: Account) -> None:
    key, _ = a_key(catalog, account)
    catalog.keys.revoke(account.id, key.id, now=NOW)
    assert catalog.keys.revoke(account.id, key.id, now=NOW + timedelta(days=1)).revoked_at == NOW


def test_key_of_another_account_cannot_be_revoked(catalog: Catalog, account: Account) -> None:
    key, _ = a_key(catalog, account)
    other, _, _ = catalog.accounts.create("Other", "owner@other.example")
    with pytest.raises(NotFoundError):
        catalog.keys.revoke(other.id, key.id, now=NOW)


def test_last_use_is_noted_at_most_once_a_minute(catalog: Catalog, account: Account) -> None:
    _, token = a_key(catalog, account)

    def noted_after_use_at(now: datetime) -> datetime | None:
        catalog.keys.find_by_token(token, now=now)
        return catalog.keys.of_account(account.id)[0].last_used_at

    assert noted_after_use_at(NOW) == NOW
    assert noted_after_use_at(NOW + timedelta(seconds=59)) == NOW
    assert noted_after_use_at(NOW + timedelta(seconds=60)) == NOW + timedelta(seconds=60)


def test_key_reaches_its_projects_only(catalog: Catalog, account: Account, project_id: str) -> None:
    key, _ = a_key(catalog, account, project_ids=[project_id])
    assert key.reaches(project_id)
    assert not key.reaches("prj_other")
    assert a_key(catalog, account)[0].reaches("prj_other")


def test_key_that_would_be_wrong_is_refused_with_every_problem(catalog: Catalog, account: Account) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        a_key(
            catalog,
            account,
            name="",
            environment="prod",
            scopes=["projects:read", "all"],
            project_ids=["prj_x"],
        )
    assert [problem.field for problem in caught.value.problems] == [
        "name",
        "environment",
        "scopes[1]",
        "project_ids[0]",
    ]


def test_key_without_scopes_is_refused(catalog: Catalog, account: Account) -> None:
    with pytest.raises(InvalidRecordError, match="scopes: is empty"):
        a_key(catalog, account, scopes=[])


def test_keys_are_listed_newest_first(catalog: Catalog, account: Account) -> None:
    names = ("one", "two", "three")
    for name in names:
        a_key(catalog, account, name=name)
    assert [key.name for key in catalog.keys.of_account(account.id)] == [*reversed(names), "First key"]
