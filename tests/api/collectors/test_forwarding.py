"""Requests that are passed on are answered as by the application itself, one part after the other."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.collectors.forwarding import ForwardingError, forward
from api.collectors.owner_link import OwnerLink
from tests.api.collectors.linked import forwarding_to
from tests.waiting import PATIENCE_SECONDS, wait_until_async

SCOPE: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/a b",
    "raw_path": b"/a%20b",
    "query_string": b"c=d",
    "http_version": "1.1",
    "scheme": "https",
    "client": ("203.0.113.7", 4711),
    "server": ("127.0.0.1", 8000),
    "headers": [(b"a", b"1"), (b"a", b"2")],
}
Run = Callable[[OwnerLink], Coroutine[Any, Any, None]]


class Client:
    """A client that sends a body in parts, and takes the parts of an answer once it may."""

    def __init__(self, *parts: bytes) -> None:
        self.unread = [*parts]
        self.sent: list[Message] = []
        self.takes = asyncio.Event()
        self.has_left = asyncio.Event()

    async def receive(self) -> Message:
        if self.unread:
            return {"type": "http.request", "body": self.unread.pop(0), "more_body": bool(self.unread)}
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":
            await self.takes.wait()


def run_with(app: ASGIApp, run: Run) -> None:
    async def linked() -> None:
        async with forwarding_to(app) as (owner, _):
            await run(owner)

    asyncio.run(linked())


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the request itself."""
    body = b""
    while (part := await receive()).get("more_body"):
        body += part["body"]
    headers = [*scope["headers"], (b"path", scope["path"].encode()), (b"client", scope["client"][0].encode())]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": body + part["body"] + scope["query_string"]})


def test_the_application_sees_the_request_and_the_client_its_answer() -> None:
    async def run(owner: OwnerLink) -> None:
        client = Client(b"one ", b"two ")
        client.takes.set()
        await forward(owner, SCOPE, client.receive, client.send)
        start, body = client.sent
        assert (start["status"], body["body"], body["more_body"]) == (201, b"one two c=d", False)
        assert dict(start["headers"]) == {b"a": b"2", b"path": b"/a b", b"client": b"203.0.113.7"}
        assert len(start["headers"]) == 4

    run_with(echo, run)


def test_a_body_is_read_when_the_application_asks_for_it() -> None:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def run(owner: OwnerLink) -> None:
        client = Client(b"unread")
        client.takes.set()
        await forward(owner, SCOPE, client.receive, client.send)
        assert client.unread == [b"unread"]

    run_with(refuse, run)


def test_a_part_of_an_answer_waits_until_the_one_before_is_taken() -> None:
    made: list[int] = []

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            made.append(number)
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": number < 2})

    async def run(owner: OwnerLink) -> None:
        client = Client()
        answering = asyncio.create_task(forward(owner, SCOPE, client.receive, client.send))
        await wait_until_async(lambda: len(client.sent) == 2)
        assert made == [0]
        client.takes.set()
        await answering
        assert b"".join(part.get("body", b"") for part in client.sent) == b"012"

    run_with(stream, run)


def reading_into(seen: list[str]) -> ASGIApp:
    """An application that reads until the client has left, and returns without an answer."""

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        while not seen or seen[-1] == "http.request":
            seen.append((await receive())["type"])

    return read


def test_a_client_that_leaves_is_reported_and_not_waited_for() -> None:
    seen: list[str] = []

    async def run(owner: OwnerLink) -> None:
        client = Client(b"all")
        answering = asyncio.create_task(forward(owner, SCOPE, client.receive, client.send))
        await wait_until_async(lambda: seen)
        client.has_left.set()
        await asyncio.wait_for(answering, PATIENCE_SECONDS)
        await wait_until_async(lambda: len(seen) == 2)
        assert client.sent == []

    run_with(reading_into(seen), run)
    assert seen == ["http.request", "http.disconnect"]


def test_the_end_of_a_collector_is_reported_as_that_of_its_clients() -> None:
    seen: list[str] = []

    async def run(owner: OwnerLink) -> None:
        client = Client(b"all")
        answering = asyncio.create_task(forward(owner, SCOPE, client.receive, client.send))
        await wait_until_async(lambda: seen)
        owner.close()
        await wait_until_async(lambda: len(seen) == 2)
        answering.cancel()

    run_with(reading_into(seen), run)
    assert seen == ["http.request", "http.disconnect"]


def test_an_application_that_returns_without_an_answer_ends_the_connection_of_its_client() -> None:
    async def ignore(scope: Scope, receive: Receive, send: Send) -> None:
        """Return at once."""

    async def run(owner: OwnerLink) -> None:
        client = Client()
        with pytest.raises(ForwardingError):
            await asyncio.wait_for(forward(owner, SCOPE, client.receive, client.send), PATIENCE_SECONDS)

    run_with(ignore, run)


def test_an_answer_that_fails_ends_the_connection_of_its_client() -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise OSError("a disk")

    async def run(owner: OwnerLink) -> None:
        client = Client()
        with pytest.raises(ForwardingError):
            await forward(owner, SCOPE, client.receive, client.send)

    run_with(fail, run)
