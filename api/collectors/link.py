"""Link: one end of the connection between the owner of the store and a collector."""

import asyncio
from collections.abc import Callable
from typing import Final, cast

import msgspec

from api.collectors.messages import Message, decode, encode

_LENGTH_BYTES: Final = 4


class Link(asyncio.Protocol):
    """Sends the messages of one turn of the event loop together, and hands over those that arrive."""

    def __init__(self, receive: Callable[[Message], None], lost: Callable[[], None]) -> None:
        """Call `receive` with each message, and `lost` once the other end is closed."""
        self._receive = receive
        self._lost = lost
        self._transport: asyncio.WriteTransport | None = None
        self._outgoing: list[msgspec.Raw] = []
        self._incoming = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as asyncio calls it
        """Tell that the other end is gone."""
        self._transport = None
        self._lost()

    def send(self, message: Message) -> None:
        """Send a message, with all others of this turn of the event loop; TypeError, ValueError."""
        # Encoded by itself, so that one that cannot be sent holds up no other.
        encoded = msgspec.Raw(encode(message))
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outgoing.append(encoded)

    def close(self) -> None:
        """Close this end, once everything is sent."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Hand over the messages that are complete."""
        self._incoming += data
        while len(self._incoming) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._incoming[:_LENGTH_BYTES], "big")
            if len(self._incoming) < end:
                return
            frame = bytes(self._incoming[_LENGTH_BYTES:end])
            del self._incoming[:end]
            for message in decode(frame):
                self._receive(message)

    def _flush(self) -> None:
        messages, self._outgoing = self._outgoing, []
        if messages and self._transport is not None:
            frame = encode(messages)
            self._transport.write(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame)
