"""Ids and unique names."""

import os
import secrets
from collections import deque
from collections.abc import Collection
from itertools import count
from typing import Final

ID_LENGTH: Final = 20
# Every request has an id: two characters at a time take a sixth of the time of base64.b32encode.
_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS: Final = [first + second for first in _CHARACTERS for second in _CHARACTERS]
_PAIR_BITS: Final = 10
_SHIFTS: Final = range(0, ID_LENGTH // 2 * _PAIR_BITS, _PAIR_BITS)
_RANDOM_BYTES: Final = 13
# A read of random bytes lets another thread run, and the event loop then waits for milliseconds to go on.
_READ_AT_ONCE: Final = 256
_unused: Final[deque[bytes]] = deque()
if hasattr(os, "register_at_fork"):
    # Otherwise two processes would generate the same ids.
    os.register_at_fork(after_in_child=_unused.clear)


def new_id(prefix: str) -> str:
    """Generate an id such as `exp_k3v…`: the prefix and 20 random base32 characters (100 bits)."""
    return f"{prefix}_{_random_base32()}"


def new_sdk_key() -> str:
    """Generate a public key of a project, for the SDK endpoints only."""
    return f"pk_{_random_base32()}"


def _random_base32() -> str:
    number = int.from_bytes(_random_bytes())
    return "".join([_PAIRS[number >> shift & len(_PAIRS) - 1] for shift in _SHIFTS])


def _random_bytes() -> bytes:
    """Return random bytes, each of which is used once."""
    while True:
        try:
            return _unused.pop()
        except IndexError:
            content = secrets.token_bytes(_READ_AT_ONCE * _RANDOM_BYTES)
            _unused.extend(
                content[start : start + _RANDOM_BYTES] for start in range(0, len(content), _RANDOM_BYTES)
            )


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    if wanted not in taken:
        return wanted
    return next(name for name in (f"{wanted}-{number}" for number in count(2)) if name not in taken)
