"""Open connections: their bounds, and those that make room for others."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from ipaddress import ip_network

from api.server.connections import Connections


@dataclass(eq=False)
class Client:
    """A connection that notes its end."""

    ended: list["Client"] = field(default_factory=list)

    def end(self) -> None:
        self.ended.append(self)

    def end_if_late(self, now: float) -> None:
        assert now > 0


def run(test: Coroutine[None, None, None]) -> None:
    asyncio.run(test)


def test_the_client_waited_for_longest_makes_room() -> None:
    async def main() -> None:
        ended: list[Client] = []
        first, second, third, fourth = (Client(ended) for _ in range(4))
        connections = Connections(limit=2, per_address=9)
        assert connections.open(first, "192.0.2.1")
        assert connections.open(second, "192.0.2.2")
        # The first sent a whole request, and waits for its answer.
        connections.work_for(first)
        assert connections.open(third, "192.0.2.3")
        assert ended == [second]
        assert len(connections) == 2
        # The first is answered, after the third came.
        connections.wait_for(first)
        assert connections.open(fourth, "192.0.2.4")
        assert ended == [second, third]

    run(main())


def test_where_every_client_waits_for_the_service_there_is_no_room() -> None:
    async def main() -> None:
        working = Client()
        connections = Connections(limit=1, per_address=9)
        assert connections.open(working, "192.0.2.1")
        connections.work_for(working)
        assert not connections.open(Client(), "192.0.2.2")
        assert not working.ended
        connections.close(working)
        assert connections.open(Client(), "192.0.2.2")

    run(main())


def test_an_address_has_its_share_and_a_trusted_proxy_all() -> None:
    async def main() -> None:
        connections = Connections(limit=99, per_address=2, trusted=(ip_network("10.0.0.0/8"),))
        opened = [Client() for _ in range(2)]
        assert all(connections.open(client, "192.0.2.1") for client in opened)
        assert not connections.open(Client(), "192.0.2.1")
        assert not connections.open(Client(), "::ffff:192.0.2.1")
        assert connections.open(Client(), "192.0.2.2")
        connections.close(opened[0])
        assert connections.open(Client(), "192.0.2.1")
        assert all(connections.open(Client(), "10.0.0.1") for _ in range(9))
        # The owner of an IPv6 network has all of its addresses.
        assert [connections.open(Client(), f"2001:db8::{number}") for number in range(3)] == [
            True,
            True,
            False,
        ]
        assert connections.open(Client(), "2001:db8:0:1::1")
        assert connections.open(Client(), None)

    run(main())


def test_connections_that_have_ended_leave_their_places() -> None:
    async def main() -> None:
        connections = Connections(limit=9, per_address=9)
        for _ in range(3):
            ended: list[Client] = []
            clients = [Client(ended) for _ in range(9)]
            assert all(connections.open(client, "192.0.2.1") for client in clients)
            for client in clients * 2:
                connections.close(client)
            assert len(connections) == 0
            assert not ended

    run(main())
