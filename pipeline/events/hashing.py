"""The 64-bit keys that stand for ids: stable for ever, since they are on disk."""

from collections.abc import Sequence

import mmh3


def hash64(visitor_id: str) -> int:
    """A stable unsigned 64-bit key of an id: the first half of murmur3_x64_128, seed 0."""
    return mmh3.hash64(visitor_id, 0, x64arch=True, signed=False)[0]


def visitor_keys(visitor_ids: Sequence[str]) -> list[int]:
    """The key of each id, in order."""
    return [hash64(visitor_id) for visitor_id in visitor_ids]
