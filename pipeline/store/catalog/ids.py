"""What identifies a thing: opaque strings whose prefix says its kind."""

import base64
import secrets

ID_BYTES = 13
ID_LENGTH = 20


def new_id(prefix: str) -> str:
    """A fresh id such as `exp_k3v…`: the prefix and 20 random base32 characters (100 bits)."""
    return f"{prefix}_{_random_base32()}"


def new_sdk_key() -> str:
    """A fresh public key of a project; it opens nothing but the SDK endpoints."""
    return f"pk_{_random_base32()}"


def _random_base32() -> str:
    return base64.b32encode(secrets.token_bytes(ID_BYTES)).decode("ascii").lower()[:ID_LENGTH]
