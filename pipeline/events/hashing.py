"""64-bit hashes of ids; stable, since they are stored."""

from collections.abc import Sequence

import mmh3


def hash64(text: str) -> int:
    """Hash an id to an unsigned 64-bit key: the first half of murmur3_x64_128, seed 0."""
    return mmh3.hash64(text, 0, x64arch=True, signed=False)[0]


def visitor_keys(visitor_ids: Sequence[str]) -> list[int]:
    """Hash each id, in order."""
    return [hash64(visitor_id) for visitor_id in visitor_ids]
