"""Table of pairs: sorted arrays of what is older, a dictionary of what is recent."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from pipeline.assignment.sorted_pairs import Pairs, SortedPairs, earlier
from pipeline.store.warehouse.identities import BROWSERS_LATER

# Recent pairs are sorted into arrays once there are so many.
MAX_RECENT: Final = 65_536
# Arrays that are written as a whole take in smaller ones that have this share of their size.
MERGED_SHARE: Final = 0.25
MIN_MERGED: Final = 2**20

# Of each key its pairs: twice the value, plus one after BROWSERS_LATER, and the earliest place.
Recent = dict[int, dict[int, int]]


class PairTable:
    """Pairs of keys and values, each with the place of its earliest event.

    One thread adds pairs, one thread at a time moves them into arrays, and any number look up: nothing waits
    for anything else. `base` and `delta` are the arrays, as they are written to two files.
    """

    def __init__(self, kind: type[np.unsignedinteger[Any]], *, flags: int = 0) -> None:
        """Begin without pairs; of a pair's events, all tell of the bits `flags` in its place."""
        self._kind = kind
        self._flags = flags
        self.base = SortedPairs([], flags=flags)
        self.delta = SortedPairs([], flags=flags)
        # Those that are being added to, and those that are being sorted into `delta`.
        self._recent: tuple[Recent, Recent] = ({}, {})
        self.recent_count = 0

    def add(self, key: int, value: int, place: int) -> None:
        """Add a pair."""
        pairs = self._recent[0].setdefault(key, {})
        pair = 2 * value + (place >= BROWSERS_LATER)
        known = pairs.get(pair)
        if known is None:
            pairs[pair] = place
            self.recent_count += 1
        else:
            pairs[pair] = earlier(known, place, self._flags)

    def of(self, key: int) -> list[tuple[int, int]]:
        """List the place and the value of each pair with a key, the earliest in front."""
        found: dict[int, int] = {}
        # Pairs move from the first of these to the last, so that none is missed in this order.
        for recent in self._recent:
            # A copy, since the writer may add to it meanwhile.
            for pair, place in recent.get(key, {}).copy().items():
                found[pair] = earlier(found.get(pair, place), place, self._flags)
        for pairs in (self.delta, self.base):
            for place, value in pairs.of(key):
                pair = 2 * value + (place >= BROWSERS_LATER)
                found[pair] = earlier(found.get(pair, place), place, self._flags)
        return sorted((place, pair // 2) for pair, place in found.items())

    def freeze(self) -> None:
        """Set the recent pairs aside, unless some are already; not while pairs are added."""
        if not self._recent[1]:
            self._recent = ({}, self._recent[0])
            self.recent_count = 0

    def sort_frozen(self) -> None:
        """Move the pairs that are set aside into the arrays."""
        recent, frozen = self._recent
        if frozen:
            self.merge(_sorted(frozen, self._kind))
        self._recent = (recent, {})

    def merge(self, pairs: Pairs, *, whole: bool = False) -> None:
        """Add sorted pairs, into `base` if `whole`."""
        news = self.base.news(pairs)
        if len(news.keys):
            (self.base if whole else self.delta).merge(news)

    def take_over(self, base: Iterable[Pairs], delta: Iterable[Pairs]) -> None:
        """Set the arrays."""
        self.base = SortedPairs(base, flags=self._flags)
        self.delta = SortedPairs(delta, flags=self._flags)

    def keep(self, values: Sequence[int]) -> None:
        """Drop the pairs with other values from the arrays."""
        for pairs in (self.base, self.delta):
            pairs.keep(np.array(values, self._kind))

    def remove(self, keys: Sequence[int], values: Sequence[int] = ()) -> None:
        """Drop the pairs with one of the keys, or of the values; not while pairs are added."""
        for pairs in (self.delta, self.base):
            pairs.remove(np.array(keys, np.uint64), np.array(values, np.uint64))
        dropped = set(values)
        for recent in self._recent:
            for key in keys:
                recent.pop(key, None)
            for known in recent.values():
                for pair in [one for one in known if one // 2 in dropped]:
                    del known[pair]

    @property
    def is_due(self) -> bool:
        """Whether `delta` has become so large that it belongs into `base`."""
        return len(self.delta) > max(MIN_MERGED, MERGED_SHARE * len(self.base))

    def merge_delta(self) -> None:
        """Move all of `delta` into `base`."""
        for page in self.delta.pages:
            self.base.merge(page)
        self.delta = SortedPairs([], flags=self._flags)


def _sorted(recent: Recent, kind: type[np.unsignedinteger[Any]]) -> Pairs:
    count = sum(map(len, recent.values()))
    keys = np.fromiter((key for key, pairs in recent.items() for _ in pairs), np.uint64, count)
    both = np.fromiter((pair // 2 for pairs in recent.values() for pair in pairs), np.uint64, count)
    places = np.fromiter((place for pairs in recent.values() for place in pairs.values()), np.int64, count)
    in_order = np.argsort(keys, kind="stable")
    return Pairs(keys[in_order], both[in_order].astype(kind), places[in_order])
