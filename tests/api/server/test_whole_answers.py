"""Whole answers: the bytes that uvicorn sends for the same head and body in two messages."""

import asyncio
import logging
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from api.server.whole_answers import write_whole

JSON = (b"content-type", b"application/json")


class Transport:
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        self.written = list[bytes]()
        self.is_closed = False

    def write(self, content: bytes) -> None:
        """Keep the content."""
        self.written.append(content)

    def close(self) -> None:
        """Note the end."""
        self.is_closed = True


class Flow:
    """A connection whose client reads all that is sent."""

    write_paused = False


def a_cycle(transport: Transport, ended: list[bool], *, keep_alive: bool = True) -> RequestResponseCycle:
    """A request that waits for its answer."""
    arguments: dict[str, Any] = {
        "scope": {"method": "GET"},
        "transport": transport,
        "flow": Flow(),
        "logger": logging.getLogger(),
        "access_logger": logging.getLogger(),
        "access_log": False,
        "default_headers": [(b"date", b"today")],
        "message_event": asyncio.Event(),
        "expect_100_continue": False,
        "keep_alive": keep_alive,
        "on_response": lambda: ended.append(True),
    }
    return RequestResponseCycle(**arguments)


def answered(
    headers: list[tuple[bytes, bytes]], body: bytes, *, whole: bool, keep_alive: bool = True
) -> tuple[Transport, list[bool]]:
    """Answer a request, whole or in two messages."""
    transport, ended = Transport(), list[bool]()

    async def answer() -> None:
        cycle = a_cycle(transport, ended, keep_alive=keep_alive)
        if whole:
            await write_whole(cycle, 200, headers, body)
        else:
            await cycle.send({"type": "http.response.start", "status": 200, "headers": headers})
            await cycle.send({"type": "http.response.body", "body": body})
        assert cycle.response_complete

    asyncio.run(answer())
    return transport, ended


@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(
    "headers",
    [
        [JSON, (b"content-length", b"4")],
        [JSON, (b"content-length", b"4"), (b"connection", b"close")],
        [JSON, (b"transfer-encoding", b"chunked")],
    ],
)
def test_the_bytes_are_those_of_two_messages(headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
    whole, ended = answered(headers, b"body", whole=True, keep_alive=keep_alive)
    in_two, _ = answered(headers, b"body", whole=False, keep_alive=keep_alive)
    assert b"".join(whole.written) == b"".join(in_two.written)
    assert whole.is_closed == in_two.is_closed
    assert ended == [True]


def test_an_answer_of_the_length_it_declares_is_one_write() -> None:
    transport, _ = answered([(b"content-length", b"4")], b"body", whole=True)
    assert len(transport.written) == 1


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"4"), (b"x-a", b"1\r\nx-b: 2")],
        [(b"content-length", b"4"), (b"x-a: 1\r\nx-b", b"2")],
        [(b"content-length", b"3")],
    ],
)
def test_a_header_that_is_none_or_lies_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(RuntimeError):
        answered(headers, b"body", whole=True)
