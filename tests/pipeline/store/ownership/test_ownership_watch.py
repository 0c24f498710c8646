import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from pipeline.settings import Settings
from pipeline.store.ownership.ownership_watch import watched_ownership
from pipeline.store.ownership.store_lock import OwnershipLostError, StoreLock
from tests.pipeline.working_store import a_working_store

END_THE_HOLDER = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks JOIN pg_database AS d ON d.oid = database "
    "WHERE locktype = 'advisory' AND datname = current_database()"
)


def test_nothing_is_lost_while_the_lock_is_held(tmp_path: Path) -> None:
    losses: list[OwnershipLostError] = []
    with (
        a_working_store(tmp_path) as store,
        watched_ownership(store.lock, store.catalog, losses.append, seconds=0.01),
    ):
        threading.Event().wait(0.1)
    assert losses == []


@pytest.mark.only_on("postgresql")
@pytest.mark.parametrize("is_taken", [True, False])
def test_a_service_learns_that_another_took_its_catalog(
    tmp_path: Path, new_catalog_url: Callable[[], str | None], *, is_taken: bool
) -> None:
    url = new_catalog_url()
    lost = threading.Event()
    with a_working_store(tmp_path / "one", catalog_url=url) as store:
        with store.catalog.database.write() as connection:
            connection.execute(text(END_THE_HOLDER))
        other = None
        if is_taken:
            other = StoreLock.take(Settings(data_dir=tmp_path / "two", catalog_url=url))
        with watched_ownership(store.lock, store.catalog, lambda _: lost.set(), seconds=0.01):
            assert lost.wait(60 if is_taken else 0.5) == is_taken
        if other:
            other.release()
