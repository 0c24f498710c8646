"""Keyed hashes of network addresses, from which the addresses cannot be computed."""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeAlias

AddressKey: TypeAlias = Callable[[str | None], int | None]
# A household or an office gets a whole /64 of IPv6, and each of its machines changes addresses within it.
_NETWORK_BYTES: Final = 8
_KEPT: Final = 10_000


def address_keys(secret: bytes) -> AddressKey:
    """Build the function from an address to its 64-bit BLAKE2b hash under `secret`.

    All IPv6 addresses of a /64 have one key. The machine's own address has none: a load test has it, or a
    proxy that does not tell whose requests it passes on. Without the secret the four thousand million
    addresses of IPv4 cannot be tried one by one. BLAKE2: RFC 7693.
    """

    @lru_cache(maxsize=_KEPT)
    def key_of(address: str | None) -> int | None:
        try:
            found = ip_address(address or "")
        except ValueError:
            return None
        if found.is_loopback:
            return None
        packed = found.packed[:_NETWORK_BYTES] if isinstance(found, IPv6Address) else found.packed
        return int.from_bytes(hashlib.blake2b(packed, digest_size=8, key=secret).digest(), "big")

    return key_of
