"""Reopening after a fatal error: a checkpoint that cannot write."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.connections.errors import REOPENING, WarehouseUnavailableError
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.full_disk import no_file_larger_than
from tests.waiting import wait_until


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    with opened.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers AS SELECT range AS n, uuid()::VARCHAR AS id FROM range(50000)")
    yield opened
    opened.close()


def lose(warehouse: Warehouse) -> None:
    """Let a checkpoint fail, which invalidates the database."""
    with warehouse.transaction() as cursor:
        cursor.execute("INSERT INTO numbers SELECT range, uuid()::VARCHAR FROM range(50000)")
    with no_file_larger_than(warehouse.path.stat().st_size), pytest.raises(WarehouseUnavailableError):
        warehouse.checkpoint()


@contextmanager
def a_held_cursor(warehouse: Warehouse) -> Iterator[None]:
    """Hold a cursor in a thread of its own until the block ends."""
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with warehouse.cursor():
            has_begun.set()
            may_end.wait(60)

    working = threading.Thread(target=work)
    working.start()
    assert has_begun.wait(60)
    try:
        yield
    finally:
        may_end.set()
        working.join()


def test_after_a_fatal_error_the_file_is_opened_again_with_all_that_was_committed(
    warehouse: Warehouse,
) -> None:
    lose(warehouse)
    # It counts as lost until the opened file has taken its place.
    wait_until(lambda: warehouse.openings == 2 and warehouse.lost_seconds == 0)
    with warehouse.cursor() as cursor:
        assert cursor.execute("SELECT count(*) FROM numbers").fetchall() == [(100_000,)]
    assert warehouse.checkpoint()


def test_it_waits_for_work_that_has_not_ended_and_refuses_more(warehouse: Warehouse) -> None:
    with a_held_cursor(warehouse):
        lose(warehouse)
        with pytest.raises(WarehouseUnavailableError, match="opened again"), warehouse.cursor():
            pass
        assert warehouse.openings == 1
        wait_until(lambda: warehouse.lost_seconds > 0)
    wait_until(lambda: warehouse.openings == 2)


@pytest.mark.parametrize("is_bulk", [True, False])
def test_a_commit_that_met_a_fatal_error_and_is_in_the_log_is_not_repeated(
    warehouse: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_bulk: bool,  # noqa: FBT001 (a parameter)
) -> None:
    ingest = Ingest(warehouse, Settings(data_dir=tmp_path))
    ingest.start()
    asyncio.run(ingest.submit("prj_1", [EventRow(1, 1, "before", 1, "exposure", "v", 1)]))
    assert ingest.load()
    transaction = warehouse.transaction

    @contextmanager
    def failing() -> Iterator[Cursor]:
        with transaction() as cursor:
            yield cursor
        monkeypatch.setattr(warehouse, "transaction", transaction)
        raise WarehouseUnavailableError(REOPENING)

    monkeypatch.setattr(warehouse, "transaction", failing)
    row = EventRow(1, 1, "in the log", 1, "exposure", "v", 1)
    if is_bulk:
        with pytest.raises(WarehouseUnavailableError):
            ingest.write_now("prj_1", events.to_batch([row]))
    else:
        asyncio.run(ingest.submit("prj_1", [row]))
        wait_until(ingest.load)
    ingest.write_now("prj_1", events.to_batch([EventRow(1, 1, "bulk", 3, "exposure", "v", 1)]))
    asyncio.run(ingest.submit("prj_1", [EventRow(1, 1, "after", 4, "exposure", "v", 1)]))
    ingest.stop()
    with warehouse.cursor() as cursor:
        stored = cursor.execute("SELECT seq, event_id FROM events_prj_1 ORDER BY seq").fetchall()
    assert stored == [(1, "before"), (2, "in the log"), (3, "bulk"), (4, "after")]


def test_events_are_acknowledged_while_the_warehouse_is_reopened(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    ingest = Ingest(warehouse, Settings(data_dir=tmp_path))
    ingest.start()
    with a_held_cursor(warehouse):
        lose(warehouse)
        asyncio.run(ingest.submit("prj_1", [EventRow(1, 1, "meanwhile", 1, "exposure", "v", 1)]))
        assert not ingest.load()
    wait_until(ingest.load)
    assert count_by_type(warehouse, "prj_1") == {"exposure": 1}
    ingest.stop()


def test_a_closed_warehouse_is_not_opened_again(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path / "other"))
    with warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers AS SELECT range AS n, uuid()::VARCHAR AS id FROM range(50000)")
    with warehouse.cursor():
        lose(warehouse)
        warehouse.close()
    Warehouse.open(Settings(data_dir=tmp_path / "other")).close()
