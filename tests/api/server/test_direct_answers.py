"""Direct answers keep to the order, the bounds and the end of their connection."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.app import create_app
from api.server.direct_answers import MAX_DIRECT_BYTES
from api.server.protocol import MAX_PIPELINED, BoundedProtocol
from pipeline.settings import Settings
from tests.api.customers import a_customer_of
from tests.api.server.exchanges import Noted, Wire, connected, until
from tests.api.shops import Shop

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


class Server:
    """A service, a shop of it, and connections that note what is answered directly."""

    def __init__(self, client: TestClient) -> None:
        assert isinstance(client.app, FastAPI)
        assert client.portal is not None
        self._portal = client.portal
        self._app = client.app
        customer = a_customer_of(client)
        project = customer.a_project()
        self.shop = Shop.opened_by(customer, project, customer.an_experiment(project))
        self.seen: list[tuple[str, bytes]] = []

    def run(self, work: Callable[[Wire, BoundedProtocol], Any]) -> Wire:
        """Work on a new connection, in the event loop of the service."""
        self.seen.clear()

        async def run() -> Wire:
            wire = Wire()
            await work(wire, connected(self._app, wire, Noted(self._app.state.direct_events, self.seen)))
            return wire

        return self._portal.call(run)

    def request(self, event_id: str = "e1", *headers: bytes, version: bytes = b"1.1", more: int = 0) -> bytes:
        """A request with one exposure, as the bytes of a browser, and `more` bytes of white space."""
        body = json.dumps({"batch": [self.shop.exposure(event_id)]}).encode() + b" " * more
        lines = [
            b"POST /api/v1/sdk/track HTTP/" + version,
            b"Host: a",
            b"X-SDK-Key: " + self.shop.sdk_key.encode(),
            b"Content-Length: %d" % len(body),
            *headers,
        ]
        return b"\r\n".join([*lines, b"", body])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with TestClient(create_app(Settings(data_dir=tmp_path_factory.mktemp("store")))) as client:
        yield Server(client)


def answers_of(wire: Wire) -> int:
    return wire.written.count(b"HTTP/1.1 ")


def sending(*parts: bytes, answers: int) -> Callable[[Wire, BoundedProtocol], Any]:
    async def send(wire: Wire, protocol: BoundedProtocol) -> None:
        for part in parts:
            protocol.data_received(part)
        await until(lambda: answers_of(wire) == answers and not protocol.tasks)

    return send


def test_requests_of_one_connection_are_answered_one_after_the_other(server: Server) -> None:
    async def send(wire: Wire, protocol: BoundedProtocol) -> None:
        for number in range(3):
            protocol.data_received(server.request(f"k{number}"))
            await until(lambda number=number: answers_of(wire) == number + 1)  # type: ignore[misc] # bound at once

    wire = server.run(send)
    assert len(server.seen) == wire.writes == 3
    assert wire.written.count(b'"accepted":1') == 3
    assert not wire.closed
    assert {"k0", "k1", "k2"} <= set(server.shop.stored())


def test_requests_at_once_are_answered_in_their_order(server: Server) -> None:
    sent = server.request("p0") + HEALTH + server.request("p1") + server.request("p2")
    wire = server.run(sending(sent, answers=4))
    bodies = [part.partition(b"\r\n\r\n")[2] for part in wire.written.split(b"HTTP/1.1 ")[1:]]
    places = [b'"p0"', b"status", b'"p1"', b'"p2"']
    assert all(place in body for place, body in zip(places, bodies, strict=True))
    assert len(server.seen) == 1
    assert wire.is_read


def test_no_more_than_one_request_of_a_read_is_answered_directly(server: Server) -> None:
    refused = server.request().replace(server.shop.sdk_key.encode(), b"pk_none")
    wire = server.run(sending(refused * 3, answers=3))
    assert wire.written.count(b" 401 ") == 3
    assert len(server.seen) == 1

    async def flood(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(refused * 1_000)
        await until(lambda: wire.closed and not protocol.tasks)

    assert answers_of(server.run(flood)) <= MAX_PIPELINED


@pytest.mark.parametrize(
    ("headers", "version", "is_direct"),
    [
        ([b"Connection: close"], b"1.1", True),
        ([], b"1.0", False),
        ([b"Connection: keep-alive"], b"1.0", False),
    ],
)
def test_a_connection_is_closed_where_the_client_asks(
    server: Server, headers: list[bytes], version: bytes, *, is_direct: bool
) -> None:
    wire = server.run(sending(server.request("c1", *headers, version=version), answers=1))
    assert b" 200 " in wire.written
    assert wire.closed
    assert b"connection: close" in wire.written
    assert len(server.seen) == is_direct


@pytest.mark.parametrize("more", [0, MAX_DIRECT_BYTES])
def test_a_body_in_parts_or_a_large_one_goes_the_usual_way(server: Server, more: int) -> None:
    sent = server.request("b1", more=more)
    parts = [sent] if more else [sent[:-10], sent[-10:]]
    wire = server.run(sending(*parts, answers=1))
    assert b'"accepted":1' in wire.written
    assert server.seen == []


def test_half_a_body_stores_nothing_and_leaves_nothing(server: Server) -> None:
    before = server.shop.stored_count()

    async def leave(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(server.request("half")[:-5])
        await until(lambda: protocol.tasks)
        protocol.connection_lost(ConnectionResetError())
        await until(lambda: not protocol.tasks)

    assert server.run(leave).written == b""
    assert server.shop.stored_count() == before


def test_a_client_that_expects_to_be_told_to_go_on_is(server: Server) -> None:
    head, _, body = server.request("x1", b"Expect: 100-continue").partition(b"\r\n\r\n")

    async def send(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(head + b"\r\n\r\n")
        await until(lambda: b"100 Continue" in wire.written)
        protocol.data_received(body)
        await until(lambda: b'"accepted":1' in wire.written)

    server.run(send)
    assert server.seen == []


def test_events_of_a_client_that_leaves_are_stored_and_answered_to_nobody(server: Server) -> None:
    ingest = server.shop.customer.services.ingest
    before = ingest.state().acknowledged

    async def leave(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(server.request("left"))
        protocol.connection_lost(ConnectionResetError())
        await until(lambda: ingest.state().acknowledged > before)
        await asyncio.sleep(0)

    assert server.run(leave).written == b""
    assert "left" in server.shop.stored()


def test_while_the_client_reads_nothing_requests_wait_as_usual(server: Server) -> None:
    async def send(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.pause_writing()
        protocol.data_received(server.request("slow"))
        await asyncio.sleep(0)
        assert server.seen == []
        protocol.resume_writing()
        await until(lambda: b'"accepted":1' in wire.written)

    server.run(send)


def test_a_service_that_stops_answers_what_it_has_begun_and_closes(server: Server) -> None:
    async def stop(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(server.request("last"))
        protocol.shutdown()
        assert not wire.closed
        await until(lambda: b'"accepted":1' in wire.written)

    wire = server.run(stop)
    assert b"connection: close" in wire.written
    assert wire.closed


def test_a_whole_request_needs_no_task(server: Server) -> None:
    server.run(sending(server.request("warm"), answers=1))

    async def send(wire: Wire, protocol: BoundedProtocol) -> None:
        protocol.data_received(server.request("none"))
        assert not protocol.tasks
        await until(lambda: answers_of(wire) == 1)

    server.run(send)
    assert len(server.seen) == 1
