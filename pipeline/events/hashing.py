"""64-bit hashes of ids; stable, since they are stored."""

import mmh3


def hash64(text: str) -> int:
    """Hash an id to an unsigned 64-bit key: the first half of murmur3_x64_128, seed 0."""
    # Encoded here, as mmh3 ends the process at half a surrogate pair.
    return mmh3.hash64(text.encode(), 0, x64arch=True, signed=False)[0]
