"""Recognition of rows without visitor ids that an earlier import stored.

Such rows are visitors of their own, however alike they are, so a row alone cannot be known again. A file is
known again as a whole: by the sum of the hashes of its rows, which is the same in any order of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_MODULUS = 2**64
Sums = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class StoredSeries:
    """Rows of a file and of those that it grew to, in the order of their import.

    `sums[n]` is the sum of the hashes of the first n rows, modulo 2^64; `ends` are the numbers of rows after
    each import.
    """

    sums: Sums
    ends: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.sums) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRange:
    """Rows of a file that are not stored: those at `first` up to `end`, excluded.

    `used` are the series that the others are of; the new rows continue the series `continues`, or begin one
    where it is None.
    """

    first: int
    end: int
    used: frozenset[int]
    continues: int | None


class _Match(NamedTuple):
    """Imports of a series, up to the number `imports` of them, found at the head or the tail of a file."""

    rows: int
    series: int
    imports: int
    is_head: bool


def cumulative_sums(contents: npt.NDArray[np.uint64]) -> Sums:
    """Return the n + 1 sums of the first 0 to n hashes, modulo 2^64."""
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(contents, dtype=np.uint64)])


def find_new_range(sums: Sums, stored: Mapping[int, StoredSeries]) -> NewRange:
    """Find the rows of a file, given by its cumulative sums, that are in none of the `stored` series.

    A file is known where it is the beginning of a series, or successive imports of one. Otherwise imports of
    a series are looked for at the head and the tail of the file, in any order of the rows of each run of
    imports: its first imports, or those that follow found ones. What is left is new.
    """
    rows = len(sums) - 1
    for key, series in stored.items():
        if _is_part(sums, series):
            return NewRange(first=rows, end=rows, used=frozenset({key}), continues=None)
    first, end = 0, rows
    found: dict[int, int] = {}
    last: int | None = None
    while match := _longest_match(sums, first, end, stored, found):
        first, end = (first + match.rows, end) if match.is_head else (first, end - match.rows)
        found[match.series] = match.imports
        last = match.series
    is_whole = last is not None and found[last] == len(stored[last].ends)
    return NewRange(first=first, end=end, used=frozenset(found), continues=last if is_whole else None)


def _is_part(sums: Sums, series: StoredSeries) -> bool:
    """Tell whether a file has the first rows of a series, or those of successive imports."""
    rows, total = len(sums) - 1, int(sums[-1])
    begins = (end - rows for end in series.ends if end >= rows)
    candidates = {0, *(begin for begin in begins if begin in series.ends)}
    return rows <= series.rows and any(
        _between(series.sums, begin, begin + rows) == total for begin in candidates
    )


def _longest_match(
    sums: Sums, first: int, end: int, stored: Mapping[int, StoredSeries], found: Mapping[int, int]
) -> _Match | None:
    matches = []
    for key, series in stored.items():
        done = found.get(key, 0)
        begins = series.ends[done - 1] if done else 0
        for imports, ends in enumerate(series.ends[done:], done + 1):
            rows, total = ends - begins, _between(series.sums, begins, ends)
            if rows > end - first:
                break
            if _between(sums, first, first + rows) == total:
                matches.append(_Match(rows, key, imports, is_head=True))
            elif _between(sums, end - rows, end) == total:
                matches.append(_Match(rows, key, imports, is_head=False))
    return max(matches, default=None)


def _between(sums: Sequence[np.uint64] | Sums, first: int, end: int) -> int:
    """Sum the hashes of the rows from `first` up to `end`, excluded."""
    return (int(sums[end]) - int(sums[first])) % _MODULUS
