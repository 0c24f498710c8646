from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.store.warehouse import events
from pipeline.store.warehouse.event_ranges import buckets, newest_seq
from tests.pipeline.working_store import a_working_store, an_event


@pytest.mark.parametrize(
    ("events", "at_once", "count"), [(0, 10, 1), (10, 10, 1), (11, 10, 2), (10**9, 10**6, 1000)]
)
def test_buckets_hold_every_key_once(events: int, at_once: int, count: int) -> None:
    found = buckets(events, at_once)
    assert len(found) == count
    assert (found[0].low, found[-1].high) == (0, 2**64 - 1)
    assert all(one.high + 1 == following.low for one, following in pairwise(found))


def test_the_newest_event_is_found_in_any_order_of_rows_and_after_removals(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        project = store.add_project()
        assert newest_seq(store.warehouse, project.id) is None
        for first in (1, 11, 5):
            batch = events.number_events(events.to_batch([an_event("pageview") for _ in range(3)]), first)
            with store.warehouse.transaction() as cursor:
                events.create_table(cursor, project.id)
                events.append(cursor, project.id, batch)
        found = [newest_seq(store.warehouse, project.id)]
        for removed in ("seq = 13", "seq < 4", "seq > 5", "true"):
            with store.warehouse.transaction() as cursor:
                cursor.execute(f'DELETE FROM "{events.table_name(project.id)}" WHERE {removed}')  # noqa: S608
            found.append(newest_seq(store.warehouse, project.id))
        assert found == [13, 12, 12, 5, None]
