"""Ids and unique names."""

import os
import secrets
from collections import deque
from collections.abc import Collection
from itertools import count
from typing import Final

ID_LENGTH: Final = 20
_CHARACTERS: Final = b"abcdefghijklmnopqrstuvwxyz234567"
# Every request has an id: each byte becomes a character, all equally likely, and many bytes at once.
_CHARACTER_OF: Final = _CHARACTERS * (256 // len(_CHARACTERS))
# A read of random bytes lets another thread run, and the event loop then waits for milliseconds to go on.
_READ_AT_ONCE: Final = 256
_unused: Final[deque[str]] = deque()
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
    """Return random characters, each of which is used once."""
    while True:
        try:
            return _unused.pop()
        except IndexError:
            text = secrets.token_bytes(_READ_AT_ONCE * ID_LENGTH).translate(_CHARACTER_OF).decode()
            _unused.extend(text[start : start + ID_LENGTH] for start in range(0, len(text), ID_LENGTH))


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    if wanted not in taken:
        return wanted
    return next(name for name in (f"{wanted}-{number}" for number in count(2)) if name not in taken)
