from collections.abc import Iterator

import pytest

from engine.design.project import Project
from pipeline.events.hashing import hash64
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import table_name
from pipeline.store.warehouse.incremental.touched_events import TouchedEvents
from tests.pipeline.working_store import WorkingStore, a_purchase, a_working_store, an_event


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def write(store: WorkingStore, *rows: EventRow) -> tuple[Project, int]:
    """Write to a new project; return it, and the number before the last event."""
    project = store.add_project()
    store.write(project, *rows)
    return project, store.ingest.last_seq_of(project.id) - 1


def copied(cursor: Cursor, table: str = TouchedEvents.table) -> list[int]:
    return sorted(key for (key,) in cursor.table(table).select("event_key").fetchall())


def keys(*event_ids: str) -> list[int]:
    return sorted(map(hash64, event_ids))


def add_visitors(cursor: Cursor, events: TouchedEvents, *visitors: str, most: int = 100) -> bool:
    cursor.execute("CREATE OR REPLACE TEMP TABLE touched (visitor_key UBIGINT)")
    cursor.executemany("INSERT INTO touched VALUES (?)", [[hash64(one)] for one in visitors])
    return events.add_visitors("touched", most=most)


def test_events_of_touched_visitors_are_copied_with_orders_and_ids_they_share(store: WorkingStore) -> None:
    project, covered = write(
        store,
        an_event("pageview", "v1", event_id="own"),
        an_event("pageview", "v2", event_id="strange"),
        a_purchase("v2", event_id="order", transaction_id="t1"),
        an_event("pageview", "v3", event_id="order"),
        a_purchase("v1", event_id="new", transaction_id="t1"),
    )
    with store.warehouse.cursor() as cursor:
        events = TouchedEvents(cursor, f'"{table_name(project.id)}"', after=covered)
        assert copied(cursor) == keys("new")
        assert add_visitors(cursor, events, "v1")
        events.add_related()
        assert copied(cursor) == keys("own", "new", "order")
        assert copied(cursor, TouchedEvents.same_ids) == keys("own", "new", "order", "order")


def test_browser_events_that_a_new_one_of_a_server_outranks_are_changed(store: WorkingStore) -> None:
    project, covered = write(
        store,
        a_purchase("v1", event_id="e1", transaction_id="t1"),
        a_purchase("v2", event_id="e2", transaction_id="t1"),
        a_purchase("v3", event_id="e3", transaction_id="t2"),
        a_purchase("v4", event_id="e1", transaction_id="t3", sender="server"),
    )
    with store.warehouse.cursor() as cursor:
        changed = TouchedEvents(cursor, f'"{table_name(project.id)}"', after=covered).changed()
        visitors = set(cursor.sql(f"FROM {changed}").select("visitor_key").fetchall())
    # e1 gives way by its id, and e2 is now the first order of t1.
    assert sorted(key for (key,) in visitors) == keys("v1", "v2", "v4")


def test_nothing_is_copied_where_too_many_events_would_be(store: WorkingStore) -> None:
    project, covered = write(
        store, *(an_event("pageview", "v1", event_id=f"m{number}") for number in range(9))
    )
    with store.warehouse.cursor() as cursor:
        events = TouchedEvents(cursor, f'"{table_name(project.id)}"', after=covered)
        assert not add_visitors(cursor, events, "v1", most=7)
        assert copied(cursor) == keys("m8")
        assert add_visitors(cursor, events, "v1", most=8)
        assert len(copied(cursor)) == 9
