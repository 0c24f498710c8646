"""Ids and unique names."""

import base64
import secrets
from collections.abc import Collection
from itertools import count

ID_BYTES = 13
ID_LENGTH = 20


def new_id(prefix: str) -> str:
    """Generate an id such as `exp_k3v…`: the prefix and 20 random base32 characters (100 bits)."""
    return f"{prefix}_{_random_base32()}"


def new_sdk_key() -> str:
    """Generate a public key of a project, for the SDK endpoints only."""
    return f"pk_{_random_base32()}"


def _random_base32() -> str:
    return base64.b32encode(secrets.token_bytes(ID_BYTES)).decode("ascii").lower()[:ID_LENGTH]


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    if wanted not in taken:
        return wanted
    return next(name for name in (f"{wanted}-{number}" for number in count(2)) if name not in taken)
