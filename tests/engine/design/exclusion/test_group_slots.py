"""Slots of a group: arithmetic of ranges, and the hashes of each slot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design.exclusion.group_slots import (
    SLOTS,
    GroupSlots,
    SlotRange,
    first_slots,
    free_ranges,
    hash_ranges,
    number_of,
    released,
)
from engine.errors import InvalidDesignError
from tests.builders import NOW, STARTED

HASHES = 1 << 32


def a_range(first: int, beyond: int) -> SlotRange:
    return SlotRange(first=first, beyond=beyond)


def test_slots_are_free_where_no_range_takes_them() -> None:
    assert free_ranges(()) == (a_range(0, SLOTS),)
    assert free_ranges((a_range(500, 700), a_range(0, 200), a_range(200, 300))) == (
        a_range(300, 500),
        a_range(700, SLOTS),
    )
    assert free_ranges((a_range(0, SLOTS),)) == ()
    assert first_slots((a_range(300, 500), a_range(700, SLOTS)), 250) == (
        a_range(300, 500),
        a_range(700, 750),
    )
    assert number_of(first_slots((a_range(0, 100),), 250)) == 100


@given(st.integers(0, HASHES - 1), st.integers(0, SLOTS - 1), st.integers(1, SLOTS))
def test_a_hash_is_in_a_range_of_slots_as_its_slot_is(own: int, first: int, length: int) -> None:
    part = a_range(first, min(first + length, SLOTS))
    ((lowest, beyond),) = hash_ranges((part,))
    for hashed in (own, max(lowest - 1, 0), lowest, beyond - 1, min(beyond, HASHES - 1)):
        slot = (SLOTS * hashed) >> 32
        assert (lowest <= hashed < beyond) == (part.first <= slot < part.beyond)


def test_slots_are_given_back_once() -> None:
    kept = GroupSlots(salt="grp_1", bucketing_version=1, slots=(a_range(0, 100),), taken_at=STARTED)
    given_back = released(kept, now=NOW)
    assert given_back is not None
    assert given_back.released_at == NOW
    assert released(given_back, now=STARTED) is given_back
    assert released(None, now=NOW) is None


@pytest.mark.parametrize("slots", [(), ((0, 100), (50, 200)), ((5, 5),)])
def test_ranges_that_are_empty_or_overlap_are_refused(slots: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(InvalidDesignError):
        GroupSlots(
            salt="grp_1",
            bucketing_version=1,
            slots=tuple(a_range(*one) for one in slots),
            taken_at=STARTED,
        )
