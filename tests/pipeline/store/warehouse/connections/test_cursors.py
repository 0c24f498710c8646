"""Time limits of cursors."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse, fetch_frame
from pipeline.store.warehouse.connections.cursors import table_exists, time_limit
from pipeline.store.warehouse.connections.errors import TimeLimitError

# Hours of work, if nothing stopped it.
ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range + b.range) = 0"


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


def test_a_statement_is_stopped_at_its_time_limit(warehouse: Warehouse) -> None:
    with pytest.raises(TimeLimitError), time_limit(0.1), warehouse.cursor() as cursor:
        cursor.execute(ENDLESS)


def test_a_frame_is_stopped_at_its_time_limit(warehouse: Warehouse) -> None:
    with pytest.raises(TimeLimitError), time_limit(0.1), warehouse.transaction() as cursor:
        fetch_frame(cursor, ENDLESS)


def test_the_limit_is_that_of_all_statements_together(warehouse: Warehouse) -> None:
    with time_limit(0.1):
        with pytest.raises(TimeLimitError), warehouse.cursor() as cursor:
            cursor.execute(ENDLESS)
        with pytest.raises(TimeLimitError), warehouse.cursor():
            pass
    with warehouse.cursor() as cursor:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]


def test_work_without_a_limit_goes_on_beside_a_stopped_one(warehouse: Warehouse) -> None:
    counted: list[tuple[int]] = []

    def count() -> None:
        with warehouse.cursor() as cursor:
            query = "SELECT count(*) FROM range(20000) a, range(10000) b WHERE hash(a.range + b.range) >= 0"
            counted.extend(cursor.execute(query).fetchall())

    counting = threading.Thread(target=count)
    counting.start()
    with pytest.raises(TimeLimitError), time_limit(0.1), warehouse.cursor() as cursor:
        cursor.execute(ENDLESS)
    counting.join()
    assert counted == [(200_000_000,)]


def test_tables_are_those_of_the_transaction_which_goes_on_where_there_is_none(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        assert not table_exists(cursor, "events_prj-1")
        cursor.execute('CREATE TABLE "events_prj-1" (seq BIGINT)')
        cursor.execute("CREATE TEMP TABLE mixed AS SELECT 1")
        assert table_exists(cursor, "events_prj-1")
        assert table_exists(cursor, "mixed")
        with warehouse.cursor() as other:
            assert not table_exists(other, "events_prj-1")
    with warehouse.cursor() as cursor:
        assert table_exists(cursor, "events_prj-1")
        assert not table_exists(cursor, "mixed")
        cursor.execute('DROP TABLE "events_prj-1"')
        assert not table_exists(cursor, "events_prj-1")
