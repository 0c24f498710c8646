"""Trusted proxies: a visitor's address, scheme and location as a proxy in front of the service tells them."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import Scope

from pipeline.events.request_headers.location import CITY_HEADERS, COUNTRY_HEADERS, REGION_HEADERS

FORWARDED_FOR: Final = b"x-forwarded-for"
FORWARDED_PROTO: Final = b"x-forwarded-proto"
# Headers about the visitor that any client can write, and only a proxy may.
LOCATION_HEADERS: Final = frozenset(
    name.encode() for name in (*COUNTRY_HEADERS, *REGION_HEADERS, *CITY_HEADERS)
)
REPORTED: Final = LOCATION_HEADERS | {FORWARDED_FOR, FORWARDED_PROTO}
SCHEMES: Final = frozenset({"http", "https"})
# A chain is read from its end; a longer one is the work of the client.
MAX_PROXIES: Final = 10
# No text of an address with its port is longer.
MAX_ADDRESS_LENGTH: Final = 64

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def client_address(connection: HTTPConnection) -> str | None:
    """Return the network address of the visitor or server that sent a request; None where it has none.

    The middleware has replaced a trusted proxy's address by that of its client. An IPv4 address within an
    IPv6 one is given as IPv4, so that one machine has one address.
    """
    client = connection.scope.get("client")
    return _written_address(client[0]) if client else None


def is_within(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether an address is of one of the networks."""
    return any(address in network for network in networks)


class TrustedProxies:
    """Proxies that are believed; their headers are removed from every other request."""

    def __init__(self, networks: Iterable[Network]) -> None:
        """Trust the addresses in `networks`."""
        self._networks = tuple(networks)

    def read_reports(self, scope: Scope) -> None:
        """Give the scope of a request the client, the scheme and the headers to believe."""
        if not REPORTED.isdisjoint(dict(scope["headers"])):
            self._read_reports(scope)

    def _read_reports(self, scope: Scope) -> None:
        client = scope.get("client")
        peer = address_of(client[0]) if client else None
        if peer is None or not self._trusts(peer):
            scope["headers"] = [header for header in scope["headers"] if header[0] not in REPORTED]
            return
        visitor = self._client_of_chain(_values(scope, FORWARDED_FOR), peer)
        if visitor != peer:
            scope["client"] = (str(visitor), 0)
        scheme = _values(scope, FORWARDED_PROTO).rpartition(",")[2].strip().lower()
        if scheme in SCHEMES:
            scope["scheme"] = scheme

    def _client_of_chain(self, chain: str, peer: Address) -> Address:
        """Return the last address of a chain that is no trusted proxy's; those before it are not believed."""
        found = peer
        for entry in reversed(chain.rsplit(",", MAX_PROXIES)[-MAX_PROXIES:]):
            address = _address_in(entry)
            if address is None:
                break
            found = address
            if not self._trusts(address):
                break
        return found

    def _trusts(self, address: Address) -> bool:
        return is_within(address, self._networks)


def _values(scope: Scope, name: bytes) -> str:
    """Join the values of a header that may stand on several lines."""
    return b",".join(value for header, value in scope["headers"] if header == name).decode("latin-1")


def _address_in(entry: str) -> Address | None:
    """Read an entry such as `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7` or `[2001:db8::7]:4711`."""
    text = entry.strip()[:MAX_ADDRESS_LENGTH]
    if text.startswith("["):
        return address_of(text[1:].partition("]")[0])
    return address_of(text.partition(":")[0] if text.count(":") == 1 else text)


@lru_cache(maxsize=4096)
def _written_address(text: str) -> str | None:
    address = address_of(text)
    return None if address is None else str(address)


@lru_cache(maxsize=4096)
def address_of(text: str) -> Address | None:
    """Read an address; an IPv4 one within an IPv6 one as IPv4. None where the text is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
