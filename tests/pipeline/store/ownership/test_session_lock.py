"""The lock of a PostgreSQL session: lost with its connection, and taken again."""

from collections.abc import Callable

import pytest
from sqlalchemy import URL, text
from sqlalchemy.pool import NullPool

from pipeline.store.catalog.backends import parse_url, postgresql_engine
from pipeline.store.ownership.session_lock import SessionLock, SessionLockHeldError

pytestmark = pytest.mark.only_on("postgresql")


@pytest.fixture
def url(new_catalog_url: Callable[[], str | None]) -> URL:
    return parse_url(str(new_catalog_url()))


def end_the_holder(url: URL) -> None:
    """End its session, as a restart of the server or a broken network does."""
    engine = postgresql_engine(url, poolclass=NullPool)
    holder = "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks JOIN pg_database AS d ON d.oid = database"
    with engine.connect() as connection:
        connection.execute(text(f"{holder} WHERE locktype = 'advisory' AND datname = current_database()"))


def test_one_session_holds_a_lock(url: URL) -> None:
    lock = SessionLock(url, "a lock")
    with pytest.raises(SessionLockHeldError):
        SessionLock(url, "a lock")
    SessionLock(url, "another lock").release()
    lock.release()
    SessionLock(url, "a lock").release()


def test_a_lock_of_a_lost_connection_is_taken_again(url: URL) -> None:
    lock = SessionLock(url, "a lock")
    assert not lock.renew()
    end_the_holder(url)
    assert lock.renew()
    with pytest.raises(SessionLockHeldError):
        SessionLock(url, "a lock")
    lock.release()


def test_a_lock_that_another_took_meanwhile_stays_lost(url: URL) -> None:
    lock = SessionLock(url, "a lock")
    end_the_holder(url)
    other = SessionLock(url, "a lock")
    for _ in range(2):
        with pytest.raises(SessionLockHeldError):
            lock.renew()
    other.release()
    lock.release()
