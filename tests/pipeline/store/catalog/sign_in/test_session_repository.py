"""Sessions: found by their secret alone, and over after a pause, a week, and their key."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.schema import sessions
from pipeline.store.catalog.sign_in.session_repository import IDLE, LONGEST

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)


@pytest.fixture
def key_id(catalog: Catalog) -> str:
    account, member, _ = catalog.accounts.create("Acme", "owner@acme.example", "scale")
    key, _ = catalog.keys.create(account.id, member.id, "Dashboard", ["projects:read"])
    return key.id


def test_a_session_is_found_by_its_secret_which_is_not_stored(catalog: Catalog, key_id: str) -> None:
    secret = catalog.sessions.create("acc_1", key_id, b"token", now=NOW)
    found = catalog.sessions.find(secret, now=NOW)
    assert found is not None
    assert (found.key_id, found.token) == (key_id, b"token")
    assert catalog.sessions.find(secret + "x", now=NOW) is None
    with catalog.database.read() as connection:
        assert secret not in str(connection.execute(select(sessions)).all())


def test_a_session_that_is_used_goes_on_until_the_longest(catalog: Catalog, key_id: str) -> None:
    secret = catalog.sessions.create("acc_1", key_id, b"token", now=NOW)
    moment = NOW
    while moment + IDLE / 2 < NOW + LONGEST:
        moment += IDLE / 2
        assert catalog.sessions.find(secret, now=moment) is not None
    assert catalog.sessions.find(secret, now=NOW + LONGEST) is None


def test_a_session_that_is_not_used_is_over(catalog: Catalog, key_id: str) -> None:
    secret = catalog.sessions.create("acc_1", key_id, b"token", now=NOW)
    assert catalog.sessions.find(secret, now=NOW + IDLE - timedelta(seconds=1)) is not None
    other = catalog.sessions.create("acc_1", key_id, b"token", now=NOW)
    assert catalog.sessions.find(other, now=NOW + IDLE) is None


def test_an_ended_session_is_gone_and_others_stay(catalog: Catalog, key_id: str) -> None:
    first, second = (catalog.sessions.create("acc_1", key_id, b"token", now=NOW) for _ in range(2))
    catalog.sessions.end(first)
    catalog.sessions.end(first)
    assert catalog.sessions.find(first, now=NOW) is None
    assert catalog.sessions.find(second, now=NOW) is not None


def test_sessions_that_are_over_are_deleted_by_the_next(catalog: Catalog, key_id: str) -> None:
    catalog.sessions.create("acc_1", key_id, b"token", now=NOW)
    catalog.sessions.create("acc_1", key_id, b"token", now=NOW + LONGEST)
    with catalog.database.read() as connection:
        assert len(connection.execute(select(sessions)).all()) == 1
