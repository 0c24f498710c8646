from itertools import pairwise

import pytest

from pipeline.store.warehouse.event_reader import buckets


@pytest.mark.parametrize(
    ("events", "at_once", "count"), [(0, 10, 1), (10, 10, 1), (11, 10, 2), (10**9, 10**6, 1000)]
)
def test_buckets_hold_every_key_once(events: int, at_once: int, count: int) -> None:
    found = buckets(events, at_once)
    assert len(found) == count
    assert (found[0].low, found[-1].high) == (0, 2**64 - 1)
    assert all(one.high + 1 == following.low for one, following in pairwise(found))
