"""Addresses of webhooks: public ones, and those of networks that the settings permit."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Whose last 32 bits are an IPv4 address: NAT64 (RFC 6052, RFC 8215), and IPv4-compatible (RFC 4291).
_ENDING_IN_IPV4: Final = (
    ip_network("64:ff9b::/96"),
    ip_network("64:ff9b:1::/48"),
    ip_network("::/96"),
)
# Of one site (RFC 3879), and IPv4-translated (RFC 2765): routers decide what these reach.
_NEVER_PUBLIC: Final = (ip_network("fec0::/10"), ip_network("::ffff:0:0:0/96"))
_LAST_32_BITS: Final = 2**32 - 1


def is_permitted(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether a webhook may reach an address: a public one, or one of the networks."""
    return is_of(address, networks) or _is_public(address)


def is_of(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether an address, or the IPv4 address that it stands for, is of one of the networks."""
    return any(one in network for one in _meanings(address) for network in networks)


def url_problems(url: str, networks: Sequence[Network]) -> Iterator[str]:
    """Say what is wrong with the absolute http or https address of a webhook, before its name is resolved."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not url.isascii():
        yield "holds characters beyond ASCII; write the host in Punycode, and the path percent-encoded"
    if parts.username is not None or parts.password is not None:
        yield "holds a user name or a password; check the signature of messages instead"
    if parts.fragment:
        yield "has a fragment, which is never sent; remove it"
    if parts.scheme == "http" and not networks:
        yield "must be an https address"
    try:
        address = ip_address(host)
    except ValueError:
        if (host == "localhost" or host.endswith(".localhost")) and not networks:
            yield "is an address of the service's own machine"
    else:
        if not is_permitted(address, networks):
            yield f"{address} is not a public address"


def _is_public(address: Address) -> bool:
    is_refused = is_of(address, _NEVER_PUBLIC)
    return not is_refused and all(one.is_global and not one.is_multicast for one in _meanings(address))


def _meanings(address: Address) -> Iterator[Address]:
    """Yield the address, or the IPv4 address that it stands for beside it."""
    if isinstance(address, IPv4Address):
        yield address
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    yield address
    if address.sixtofour is not None:
        yield address.sixtofour
    if any(address in network for network in _ENDING_IN_IPV4):
        yield IPv4Address(int(address) & _LAST_32_BITS)
