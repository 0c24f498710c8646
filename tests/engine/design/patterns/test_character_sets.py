"""Character sets: unions and complements of ranges, and the classes of RE2."""

from itertools import pairwise

import re2
from hypothesis import given
from hypothesis import strategies as st

from engine.design.patterns.character_sets import LAST, NAMED_CLASSES, PERL_CLASSES, Ranges, complement, union

PAIRS = st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda pair: (min(pair), max(pair)))


def members(ranges: Ranges) -> set[int]:
    return {point for first, last in ranges for point in range(first, last + 1)}


@given(st.lists(PAIRS))
def test_a_union_holds_what_its_parts_hold_with_gaps_between_ranges(
    pairs: list[tuple[int, int]],
) -> None:
    joined = union(pairs)
    assert members(joined) == members(tuple(pairs))
    assert all(before[1] + 1 < after[0] for before, after in pairwise(joined))


@given(st.lists(PAIRS).map(union))
def test_a_complement_holds_the_rest(ranges: Ranges) -> None:
    others = complement(ranges)
    assert complement(others) == ranges
    assert union((*ranges, *others)) == ((0, LAST),)


def test_classes_are_those_of_re2() -> None:
    for name, ranges in NAMED_CLASSES.items():
        assert {point for point in range(256) if re2.search(f"[[:{name}:]]", chr(point))} == members(ranges)
    for letter, ranges in PERL_CLASSES.items():
        found = {point for point in range(256) if re2.search(f"\\{letter}", chr(point))}
        assert found == members(ranges) & set(range(256))
