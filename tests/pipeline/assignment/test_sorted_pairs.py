from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assignment import sorted_pairs
from pipeline.assignment.sorted_pairs import Pairs, SortedPairs, earlier
from pipeline.store.warehouse.identities import BROWSERS_LATER

FLAG = 1
# Few keys and values, so that most pairs come again; places on both sides, some of them with the flag.
places = st.integers(1, 50).map(lambda number: 2 * number) | st.integers(1, 50).map(
    lambda number: BROWSERS_LATER + 2 * number
)
triples = st.tuples(st.integers(0, 12) | st.just(2**64 - 1), st.integers(0, 3), places, st.booleans())


def pair_of(value: int, place: int) -> tuple[int, bool]:
    return value, place >= BROWSERS_LATER


def arranged(rows: list[tuple[int, int, int, bool]]) -> Pairs:
    unique = {
        (key, *pair_of(value, place)): (value, place | has_flag) for key, value, place, has_flag in rows
    }
    ordered = sorted((key, value, place) for (key, *_), (value, place) in unique.items())
    keys, values, found = zip(*ordered, strict=True) if ordered else ((), (), ())
    return Pairs(np.array(keys, np.uint64), np.array(values, np.uint32), np.array(found, np.int64))


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_pairs, "PAGE_PAIRS", 3)


@given(st.lists(st.lists(triples, max_size=30).map(arranged), max_size=6))
def test_of_each_pair_the_earliest_place_stays_with_all_flags(batches: list[Pairs]) -> None:
    pairs, expected = SortedPairs([], flags=FLAG), dict[tuple[int, int, bool], int]()
    for batch in batches:
        news = pairs.news(batch)
        before = dict(expected)
        for key, value, place in zip(*(column.tolist() for column in batch), strict=True):
            pair = (key, *pair_of(value, place))
            expected[pair] = earlier(expected.get(pair, place), place, FLAG)
        changed = {pair for pair, place in expected.items() if before.get(pair) != place}
        assert {
            (key, *pair_of(value, place))
            for key, value, place in zip(*map(np.ndarray.tolist, news), strict=True)
        } == changed
        pairs.merge(batch)
    for key in {key for key, *_ in expected} | {5}:
        found = {pair_of(value, place): place for place, value in pairs.of(key)}
        assert found == {tuple(pair): place for (one, *pair), place in expected.items() if one == key}
    assert len(pairs) == len(expected)


@given(st.lists(triples, max_size=60).map(arranged))
def test_keys_ascend_through_pages_of_bounded_size(batch: Pairs) -> None:
    pairs = SortedPairs([])
    pairs.merge(batch)
    keys = [page.keys for page in pairs.pages]
    assert np.array_equal(np.concatenate([*keys, np.empty(0, np.uint64)]), batch.keys)
    for page, following in pairwise(keys):
        assert page[-1] < following[0]
    # A page of twice the usual size is cut behind the last pair of a key, of which there are eight at most.
    assert all(len(page) <= 6 + 8 for page in keys)


@given(st.lists(triples, max_size=40).map(arranged), st.sets(st.integers(0, 3)))
def test_pairs_with_other_values_are_dropped(batch: Pairs, kept: set[int]) -> None:
    pairs = SortedPairs([])
    pairs.merge(batch)
    pairs.keep(np.array(sorted(kept), np.uint32))
    assert [value for page in pairs.pages for value in page.values.tolist()] == [
        value for value in batch.values.tolist() if value in kept
    ]
