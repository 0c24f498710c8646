from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EVENT_SCHEMA
from tests.pipeline.event_counts import count_by_type

AWKWARD = "nul \x00, control \x1b[31m, quote ', emoji 🛒, replacement \ufffd"


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


def a_row(event_id: str = "e1", **columns: object) -> EventRow:
    return EventRow(
        **{
            "received_at": 1_772_000_000_000_000,
            "occurred_at": 1_772_000_000_000_000,
            "event_id": event_id,
            "event_key": 2**64 - 1,
            "type": "exposure",
            "visitor_id": "v1",
            "visitor_key": 2**63,
            **columns,
        }  # type: ignore[arg-type]  # the columns under test vary
    )


def store(warehouse: Warehouse, project_id: str, *rows: EventRow, first_seq: int = 1) -> None:
    with warehouse.transaction() as cursor:
        events.create_table(cursor, project_id)
        events.append(cursor, project_id, events.number_events(events.to_batch(rows), first_seq))


def stored(warehouse: Warehouse, project_id: str) -> list[EventRow]:
    with warehouse.cursor() as cursor:
        rows = cursor.execute(
            f'SELECT * EXCLUDE (seq) FROM "{events.table_name(project_id)}" ORDER BY seq'  # noqa: S608 (a checked id)
        ).fetchall()
    return [EventRow(*row) for row in rows]


def test_a_row_comes_back_as_it_went_in(warehouse: Warehouse) -> None:
    row = a_row(
        user_id=AWKWARD,
        user_key=0,
        url="https://shop.example/?q=" + "x" * 5000,
        value=-1.5,
        revenue_cents=10**12,
        is_refund=True,
        custom='{"plan":"pro"}',
    )
    store(warehouse, "prj_1", row)
    assert stored(warehouse, "prj_1") == [row]


def test_columns_that_a_batch_leaves_out_are_null(warehouse: Warehouse) -> None:
    kept = ("received_at", "occurred_at", "event_id", "event_key", "type", "visitor_key")
    batch = events.to_batch([a_row()]).select([*kept, "is_refund", "is_bot"])
    with warehouse.transaction() as cursor:
        events.create_table(cursor, "prj_1")
        events.append(cursor, "prj_1", events.number_events(batch, 1))
    assert stored(warehouse, "prj_1") == [a_row(visitor_id=None)]


def test_each_project_has_its_own_table(warehouse: Warehouse) -> None:
    store(warehouse, "prj_1", a_row("a"))
    store(warehouse, "prj_2", a_row("b"), a_row("c"), first_seq=2)
    assert [row.event_id for row in stored(warehouse, "prj_1")] == ["a"]
    assert events.last_seqs(warehouse) == {"prj_1": 1, "prj_2": 3}
    assert count_by_type(warehouse, "prj_2") == {"exposure": 2}


def test_an_empty_store_has_no_sequence_numbers(warehouse: Warehouse) -> None:
    assert events.last_seq(warehouse) == 0
    assert events.last_seqs(warehouse) == {}
    assert count_by_type(warehouse, "prj_1") == {}


def test_sequence_numbers_of_a_dropped_project_are_never_given_again(warehouse: Warehouse) -> None:
    store(warehouse, "prj_1", a_row("a"), first_seq=41)
    with warehouse.transaction() as cursor:
        events.drop(cursor, "prj_1")
    assert events.last_seq(warehouse) == 41
    assert count_by_type(warehouse, "prj_1") == {}


def test_dropping_what_was_never_stored_is_nothing(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        events.drop(cursor, "prj_1")
    assert events.last_seq(warehouse) == 0


def test_no_table_is_named_after_anything_but_an_id(warehouse: Warehouse) -> None:
    with warehouse.cursor() as cursor, pytest.raises(ValueError, match="is no project id"):
        events.create_table(cursor, 'x"; DROP TABLE y; --')


def test_rows_and_schema_have_the_same_columns() -> None:
    assert tuple(EVENT_SCHEMA) == EventRow._fields


def test_a_batch_with_a_null_where_a_value_must_be_stores_nothing(warehouse: Warehouse) -> None:
    batch = events.to_batch([a_row()]).with_columns(event_id=pl.lit(None, pl.String))
    with warehouse.cursor() as cursor:
        events.create_table(cursor, "prj_1")
        with pytest.raises(Exception, match="NOT NULL"):
            events.append(cursor, "prj_1", events.number_events(batch, 1))
    assert count_by_type(warehouse, "prj_1") == {}


def test_tables_of_an_earlier_version_get_the_columns_they_lack(warehouse: Warehouse) -> None:
    store(warehouse, "prj_1", a_row("old", sender="server"))
    with warehouse.cursor() as cursor:
        cursor.execute(f'ALTER TABLE "{events.table_name("prj_1")}" DROP COLUMN sender')
    events.add_missing_columns(warehouse)
    store(warehouse, "prj_1", a_row("new", sender="browser"), first_seq=2)
    with warehouse.cursor() as cursor:
        senders = cursor.execute('SELECT event_id, sender FROM "events_prj_1" ORDER BY seq').fetchall()
    assert senders == [("old", None), ("new", "browser")]
