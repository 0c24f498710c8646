"""Open connections: their number, in all and by address, and the slow ones that are closed."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Final, Protocol

from api.middleware.proxies import Network, address_of, is_within

SWEEP_SECONDS: Final = 1.0
# Owners of IPv6 addresses have whole networks of this size.
IPV6_HOST_BITS: Final = 64


class Connection(Protocol):
    """A connection that can be ended."""

    def end_if_late(self, now: float) -> None:
        """End the connection where its client is too slow; `now` is the loop's time."""

    def end(self) -> None:
        """Close the connection at once, whatever is still to be sent."""


@dataclass(slots=True, eq=False)
class Connections:
    """The open connections of a server: at most `limit`, and `per_address` from an address of no proxy.

    A full server ends the connection whose client has been waited for longest, such as one with half a
    request, to accept another.
    """

    limit: int
    per_address: int
    trusted: tuple[Network, ...] = ()
    _address_of: dict[Connection, str | None] = field(default_factory=dict)
    _by_address: Counter[str] = field(default_factory=Counter)
    # In the order in which the wait began.
    _waiting: dict[Connection, None] = field(default_factory=dict)
    _is_sweeping: bool = False

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._address_of)

    def open(self, connection: Connection, host: str | None) -> bool:
        """Accept a connection of a client; False where there is no room for it."""
        address = self._bounded_address(host)
        if address is not None and self._by_address[address] >= self.per_address:
            return False
        if len(self) >= self.limit and not self._make_room():
            return False
        self._address_of[connection] = address
        if address is not None:
            self._by_address[address] += 1
        self.wait_for(connection)
        self._sweep_later()
        return True

    def close(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._waiting.pop(connection, None)
        address = self._address_of.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def wait_for(self, connection: Connection) -> None:
        """Mark that the service waits for the client."""
        self._waiting.setdefault(connection)

    def work_for(self, connection: Connection) -> None:
        """Mark that the client waits for the service, which is no reason to end a connection."""
        self._waiting.pop(connection, None)

    def _make_room(self) -> bool:
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        oldest.end()
        self.close(oldest)
        return True

    def _bounded_address(self, host: str | None) -> str | None:
        address = None if host is None else address_of(host)
        if address is None or is_within(address, self.trusted):
            return None
        if isinstance(address, IPv6Address):
            return str(int(address) >> IPV6_HOST_BITS)
        return str(address)

    def _sweep_later(self) -> None:
        if not self._is_sweeping:
            self._is_sweeping = True
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """End the connections whose clients are too slow."""
        self._is_sweeping = False
        now = asyncio.get_running_loop().time()
        for connection in [*self._address_of]:
            connection.end_if_late(now)
        if self._address_of:
            self._sweep_later()
