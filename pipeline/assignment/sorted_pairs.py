"""Sorted arrays of pairs: of each key its values, and of each pair the place of the earliest event."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pipeline.store.warehouse.identities import BROWSERS_LATER

# A merge copies one page after another, so that it needs little memory and lets other threads run.
PAGE_PAIRS: Final = 2**18

Values = npt.NDArray[np.unsignedinteger[Any]]


class Pairs(NamedTuple):
    """Keys in ascending order, a value of each, and the place of the pair in the order of events.

    No pair occurs twice with places on the same side of BROWSERS_LATER.
    """

    keys: npt.NDArray[np.uint64]
    values: Values
    places: npt.NDArray[np.int64]

    def take(self, chosen: npt.NDArray[Any] | slice) -> Self:
        """Return the chosen pairs."""
        return self._replace(keys=self.keys[chosen], values=self.values[chosen], places=self.places[chosen])

    def copied(self) -> Self:
        """Return the same pairs in arrays of their own."""
        return self._replace(keys=self.keys.copy(), values=self.values.copy(), places=self.places.copy())


def earlier(place: int, other: int, flags: int) -> int:
    """Return the earlier of two places of a pair, with those of the bits `flags` that either has."""
    return min(place, other) | ((place | other) & flags)


class SortedPairs:
    """Pages of sorted pairs, for one writer and any number of readers.

    A merge replaces one page after another: a reader meanwhile finds the former or the new one.
    """

    def __init__(self, pages: Iterable[Pairs], *, flags: int = 0) -> None:
        """Take pages in ascending order, no key in two of them."""
        self.flags = flags
        self._take_over([page for page in pages if len(page.keys)])

    def __len__(self) -> int:
        """Count the pairs."""
        return sum(len(page.keys) for page in self.pages)

    @property
    def pages(self) -> tuple[Pairs, ...]:
        """All pairs, in ascending order of keys."""
        return tuple(self._bounded[1])

    def of(self, key: int) -> Iterator[tuple[int, int]]:
        """Yield the place and the value of each pair with a key."""
        bounds, pages = self._bounded
        if not bounds:
            return
        page = pages[max(bisect_right(bounds, key) - 1, 0)]
        wanted = np.uint64(key)
        first = int(page.keys.searchsorted(wanted))
        if first == len(page.keys) or page.keys[first] != wanted:
            return
        end = int(page.keys.searchsorted(wanted, "right"))
        yield from zip(page.places[first:end].tolist(), page.values[first:end].tolist(), strict=True)

    def merge(self, newer: Pairs) -> None:
        """Add pairs, of a known one the earlier place."""
        bounds, pages = self._bounded
        if not pages:
            self._take_over(list(_divided(newer)))
            return
        for position, part in _parts(bounds, newer):
            pages[position] = _merged(pages[position], part, self.flags)
        self._take_over([half for page in pages for half in _divided(page)])

    def news(self, pairs: Pairs) -> Pairs:
        """Return those pairs that a merge would not leave as they are."""
        bounds, pages = self._bounded
        if not pages:
            return pairs
        parts = [
            part.take(_are_news(pages[position], part, self.flags))
            for position, part in _parts(bounds, pairs)
        ]
        if not parts:
            return pairs
        return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def keep(self, values: Values) -> None:
        """Drop the pairs with other values."""
        pages = self._bounded[1]
        for position, page in enumerate(pages):
            pages[position] = page.take(np.isin(page.values, values))
        self._take_over([page for page in pages if len(page.keys)])

    def remove(self, keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]) -> None:
        """Drop the pairs with one of the keys, and those with one of the values."""
        pages = self._bounded[1]
        for position, page in enumerate(pages):
            dropped = np.isin(page.keys, keys) | np.isin(page.values, values)
            if dropped.any():
                pages[position] = page.take(~dropped).copied()
        self._take_over([page for page in pages if len(page.keys)])

    def _take_over(self, pages: list[Pairs]) -> None:
        # One attribute, so that a reader finds bounds and pages that belong together.
        self._bounded = ([int(page.keys[0]) for page in pages], pages)


def _parts(bounds: list[int], pairs: Pairs) -> Iterator[tuple[int, Pairs]]:
    """Yield the pairs that belong to each page, with the page's position; pages without any are skipped."""
    cuts = np.searchsorted(pairs.keys, np.array(bounds[1:], np.uint64)).tolist()
    for position, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(pairs.keys)], strict=True)):
        if start < end:
            yield position, pairs.take(slice(start, end))


def _merged(page: Pairs, newer: Pairs, flags: int) -> Pairs:
    ends = np.searchsorted(page.keys, newer.keys, "right")
    known = _find(page, newer, ends)
    is_new = known < 0
    places = page.places.copy()
    at, given = known[~is_new], newer.places[~is_new]
    places[at] = np.minimum(places[at], given) | ((places[at] | given) & flags)
    where, added = ends[is_new], newer.take(is_new)
    return Pairs(
        np.insert(page.keys, where, added.keys),
        np.insert(page.values, where, added.values),
        np.insert(places, where, added.places),
    )


def _are_news(page: Pairs, pairs: Pairs, flags: int) -> npt.NDArray[np.bool_]:
    known = _find(page, pairs, np.searchsorted(page.keys, pairs.keys, "right"))
    stored = page.places[known]
    same = (np.minimum(stored, pairs.places) | ((stored | pairs.places) & flags)) == stored
    return np.asarray((known < 0) | ~same)


def _find(page: Pairs, pairs: Pairs, ends: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the position in `page` of each of the pairs, -1 where absent; `ends` are those of its keys."""
    starts = np.searchsorted(page.keys, pairs.keys)
    found = np.full(len(pairs.keys), -1, np.intp)
    # The keys of a few pairs are there already; one more round for each further value of a key.
    open_ones = np.flatnonzero(starts < ends)
    at = starts[open_ones]
    while len(open_ones):
        same = page.values[at] == pairs.values[open_ones]
        same &= (page.places[at] >= BROWSERS_LATER) == (pairs.places[open_ones] >= BROWSERS_LATER)
        found[open_ones[same]] = at[same]
        at = at + 1
        goes_on = ~same & (at < ends[open_ones])
        open_ones, at = open_ones[goes_on], at[goes_on]
    return found


def _divided(page: Pairs) -> Iterator[Pairs]:
    """Divide a page that has grown too large, between two keys."""
    rest = page
    while len(rest.keys) > 2 * PAGE_PAIRS:
        cut = int(np.searchsorted(rest.keys, rest.keys[PAGE_PAIRS], "right"))
        # Copies, since parts of one array would keep all of it in memory.
        yield rest.take(slice(cut)).copied()
        rest = rest.take(slice(cut, None))
    if len(rest.keys):
        yield rest if rest is page else rest.copied()
