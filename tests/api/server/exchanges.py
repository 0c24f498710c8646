"""Requests that reach an application as the bytes of a connection, without a network."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from api.server.config import server_config
from api.server.connections import Connections
from api.server.direct_answers import AnswersDirectly, DirectExchange
from api.server.protocol import BoundedProtocol

PEER: Final = ("127.0.0.1", 4711)


class Wire(asyncio.Transport):
    """The client's side of a connection: what the service wrote, and whether it has closed its end."""

    def __init__(self, peer: tuple[str, int] = PEER) -> None:
        super().__init__({"peername": peer, "sockname": ("127.0.0.1", 8000)})
        self.written = b""
        self.writes = 0
        self.closed = False
        self.is_read = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)
        self.writes += 1

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


@dataclass(slots=True)
class Noted:
    """What answers directly, and the paths and bodies of the requests that it answered."""

    inner: AnswersDirectly
    seen: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def raw_paths(self) -> Any:
        return self.inner.raw_paths

    def answer(
        self, scope: Scope, body: bytes, exchange: DirectExchange, tasks: set[asyncio.Task[None]]
    ) -> None:
        self.seen.append((scope["path"], body))
        self.inner.answer(scope, body, exchange, tasks)


def connected(app: FastAPI, wire: Wire, direct: AnswersDirectly | None) -> BoundedProtocol:
    """Connect a client to an application, in the running event loop."""
    config = server_config(app, app.state.services.settings, lifespan="off")
    config.load()
    places = Connections(limit=100, per_address=100)
    protocol = BoundedProtocol(config, ServerState(), {}, open_connections=places, direct=direct)
    protocol.connection_made(wire)
    return protocol


async def until(condition: Callable[[], object]) -> None:
    """Let the event loop go on until a condition holds; TimeoutError after half a minute."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - whatever changes it tells nobody
            await asyncio.sleep(0)


@dataclass(slots=True)
class Way:
    """A way of requests through the server: those that can be are answered directly, or none is.

    `seen` are those that were, and `counts` the answers that each application counted.
    """

    is_direct: bool
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    counts: list[Counter[tuple[str, str, int]]] = field(default_factory=list)

    @contextmanager
    def __call__(self, client: TestClient) -> Iterator[ASGIApp]:
        """Yield an application that passes each request through a connection of its own."""
        app = client.app
        assert isinstance(app, FastAPI)
        noted = Noted(app.state.direct_events, self.seen) if self.is_direct else None
        yield partial(_exchange, app, noted)
        self.counts.append(app.state.request_counts.by_route)


async def _exchange(
    app: FastAPI, direct: AnswersDirectly | None, scope: Scope, receive: Receive, send: Send
) -> None:
    wire = Wire(scope["client"])
    protocol = connected(app, wire, direct)
    parts, leaves = await _parts_of(receive)
    names = {name for name, _ in scope["headers"]}
    is_chunked = len(parts) > 1 or leaves
    protocol.data_received(_head(scope, parts, is_chunked=is_chunked, has_length=b"content-length" in names))
    if is_chunked:
        for part in filter(None, parts):
            protocol.data_received(b"%x\r\n%b\r\n" % (len(part), part))
        if not leaves:
            protocol.data_received(b"0\r\n\r\n")
    if leaves:
        # Once the application waits for the rest.
        await asyncio.sleep(0)
        protocol.connection_lost(ConnectionResetError())
        await until(lambda: not protocol.tasks)
        return
    await until(lambda: protocol.cycle is not None and protocol.cycle.response_complete)
    await until(lambda: not protocol.tasks)
    head, _, body = wire.written.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = [tuple(line.split(b": ", 1)) for line in lines]
    await send({"type": "http.response.start", "status": int(status.split()[1]), "headers": headers})
    await send({"type": "http.response.body", "body": body})
    protocol.connection_lost(None)


async def _parts_of(receive: Receive) -> tuple[list[bytes], bool]:
    """Read what a client sends; and whether it leaves before the end."""
    parts = list[bytes]()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return parts, True
        parts.append(message["body"])
        if not message["more_body"]:
            return parts, False


def _head(scope: Scope, parts: list[bytes], *, is_chunked: bool, has_length: bool) -> bytes:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    lines = [scope["method"].encode() + b" " + scope["raw_path"] + query + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in scope["headers"]]
    if is_chunked and not has_length:
        lines.append(b"Transfer-Encoding: chunked")
    elif not has_length:
        lines.append(b"Content-Length: %d" % len(parts[0]))
    return b"\r\n".join([*lines, b"", b"" if is_chunked else parts[0]])
