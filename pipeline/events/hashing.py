"""64-bit hashes of ids; stable, since they are stored."""

import mmh3


def hash64(text: str) -> int:
    """Hash an id to an unsigned 64-bit key: the first half of murmur3_x64_128, seed 0."""
    return mmh3.hash64(text, 0, x64arch=True, signed=False)[0]
