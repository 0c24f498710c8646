"""Files without visitor ids are known again as a whole."""

from collections.abc import Sequence

import numpy as np
import pytest

from pipeline.imports.anonymous_rows import NewRange, StoredSeries, cumulative_sums, find_new_range

A = list(range(100, 140))
B = list(range(200, 230))
MORE = list(range(300, 310))
NEW = list(range(400, 420))


def hashes(numbers: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    # Large, so that sums pass 2^64.
    return np.array([(number * 0x9E3779B97F4A7C15) % 2**64 for number in numbers], np.uint64)


def series(*imports: Sequence[int]) -> StoredSeries:
    """Build a series of these imports."""
    rows = [number for one in imports for number in one]
    ends = np.cumsum([len(one) for one in imports]).tolist()
    return StoredSeries(cumulative_sums(hashes(rows)), tuple(ends))


def found(file: Sequence[int], **stored: StoredSeries) -> tuple[list[int], str | None]:
    """Return the rows that are new, and the name of the series that they continue."""
    keys = dict(enumerate(stored))
    by_key = {key: stored[name] for key, name in keys.items()}
    new: NewRange = find_new_range(cumulative_sums(hashes(file)), by_key)
    return list(file[new.first : new.end]), None if new.continues is None else keys[new.continues]


@pytest.mark.parametrize(
    "file",
    [A, A[::-1], A + MORE, (A + MORE)[::-1], A[:25], MORE],
    ids=[
        "yesterday's",
        "in another order",
        "today's",
        "today's in another order",
        "a beginning",
        "an addition",
    ],
)
def test_a_file_that_was_imported_has_nothing_new(file: list[int]) -> None:
    assert found(file, a=series(A, MORE)) == ([], None)


def test_a_file_that_grew_at_either_end_has_the_new_rows() -> None:
    assert found(A + NEW, a=series(A)) == (NEW, "a")
    assert found(NEW + A, a=series(A)) == (NEW, "a")
    assert found(A + MORE + NEW, a=series(A, MORE)) == (NEW, "a")
    assert found(A[::-1] + NEW, a=series(A)) == (NEW, "a")


def test_another_file_is_new_as_a_whole() -> None:
    assert found(B, a=series(A)) == (B, None)
    # Equal rows, but not all of them together.
    assert found(A[:20] + B, a=series(A)) == (A[:20] + B, None)


def test_files_that_follow_each_other_are_all_known() -> None:
    stored = {"a": series(A), "b": series(B)}
    assert found(A + B, **stored) == ([], "b")
    assert found(B + A + NEW, **stored) == (NEW, "a")


def test_an_interrupted_import_goes_on_where_it_ended() -> None:
    # At the head of the file, and after an import of which the file grew at its head.
    assert found(A, a=series(A[:15])) == (A[15:], "a")
    assert found(NEW + A, a=series(A, NEW[:5])) == (NEW[5:], "a")


def test_an_addition_is_looked_for_only_after_what_it_was_added_to() -> None:
    one_row = [NEW[0]]
    assert found(one_row + B, a=series(A, one_row)) == (one_row + B, None)


def test_a_file_without_rows_has_nothing_new() -> None:
    assert found([], a=series(A)) == ([], None)
    assert found([]) == ([], None)
