"""Messages arrive whole and in order, and those of one turn of the event loop together."""

import asyncio
import socket

import pytest

from api.collectors.link import Link
from api.collectors.messages import BodyPart, BodyWanted, EventAnswer, EventCall, Message, Refusal
from tests.api.collectors.linked import nothing
from tests.waiting import wait_until_async


async def linked_to(received: list[Message], lost: asyncio.Event) -> tuple[Link, Link]:
    """Connect a link to another that notes what it receives."""
    one, other = Link(received.append, nothing), Link(received.append, lost.set)
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    await loop.create_unix_connection(lambda: one, sock=ours)
    await loop.create_unix_connection(lambda: other, sock=theirs)
    return one, other


def exchanged(*messages: Message) -> list[Message]:
    """Send messages, close the link at once, and return what arrives."""
    received: list[Message] = []

    async def run() -> None:
        lost = asyncio.Event()
        one, other = await linked_to(received, lost)
        for message in messages:
            one.send(message)
        one.close()
        await lost.wait()
        other.close()

    asyncio.run(run())
    return received


def test_messages_arrive_as_they_were_sent() -> None:
    messages: list[Message] = [
        EventCall(1, "prj_1", version=3, address_key=2**64 - 1, rows=b"\x90", size=9),
        EventAnswer(
            1, window=(10, 1, 60, False), refusal=Refusal("unavailable", "later", {"Retry-After": "1"})
        ),
        BodyWanted(2),
    ]
    assert exchanged(*messages) == messages


def test_a_message_that_arrives_in_parts_is_whole() -> None:
    large = BodyPart(1, b"x" * 5_000_000, more_body=False)
    assert exchanged(large, BodyWanted(2)) == [large, BodyWanted(2)]


def test_a_message_that_cannot_be_encoded_holds_up_no_other() -> None:
    received: list[Message] = []

    async def run() -> None:
        lost = asyncio.Event()
        link, other = await linked_to(received, lost)
        link.send(BodyWanted(1))
        with pytest.raises(OverflowError):
            link.send(BodyWanted(2**70))
        link.send(BodyWanted(3))
        link.close()
        await lost.wait()
        other.close()

    asyncio.run(run())
    assert received == [BodyWanted(1), BodyWanted(3)]


def test_messages_of_one_turn_are_one_write() -> None:
    written: list[bytes] = []

    class Transport(asyncio.WriteTransport):
        def write(self, data: bytes | bytearray | memoryview) -> None:
            written.append(bytes(data))

    async def run() -> None:
        link = Link(lambda _: None, nothing)
        link.connection_made(Transport())
        link.send(BodyWanted(1))
        link.send(BodyWanted(2))
        await wait_until_async(lambda: written)
        link.send(BodyWanted(3))
        await wait_until_async(lambda: len(written) > 1)

    asyncio.run(run())
    assert len(written) == 2
