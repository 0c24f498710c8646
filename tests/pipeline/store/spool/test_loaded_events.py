from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.spool import loaded_events
from pipeline.store.warehouse.connection import Cursor, Warehouse


@pytest.fixture
def cursor(tmp_path: Path) -> Iterator[Cursor]:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    with warehouse.cursor() as opened:
        yield opened
    warehouse.close()


def test_a_store_of_an_earlier_version_has_all_of_its_events_loaded(cursor: Cursor) -> None:
    assert loaded_events.read_loaded_seq(cursor) is None
    loaded_events.create_table(cursor, 7)
    assert loaded_events.read_loaded_seq(cursor) == 7
    # It may have been written to by an earlier version in between.
    loaded_events.create_table(cursor, 5)
    assert loaded_events.read_loaded_seq(cursor) == 7
    loaded_events.create_table(cursor, 9)
    assert loaded_events.read_loaded_seq(cursor) == 9


def test_the_number_is_raised_from_the_expected_one_only(cursor: Cursor) -> None:
    loaded_events.create_table(cursor, 7)
    assert loaded_events.advance(cursor, 7, 10)
    assert not loaded_events.advance(cursor, 7, 12)
    assert loaded_events.read_loaded_seq(cursor) == 10
