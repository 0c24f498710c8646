"""The collector's end of its link to the owner of the store: questions, and requests that are passed on."""

import asyncio
import socket
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from api.collectors.link import Link
from api.collectors.messages import EventAnswer, EventCall, ExposureAnswer, ExposureCall, Message, Ready

Exchange = Callable[[Message], None]
AnswerT = TypeVar("AnswerT", EventAnswer, ExposureAnswer)


class OwnerLink:
    """A link to the owner. Whoever waits for an answer when it is lost waits until the collector ends."""

    def __init__(self, lost: Callable[[], None]) -> None:
        """Call `lost` once the owner has closed its end, or has ended."""
        self._link = Link(self._receive, self._lose)
        self._lost = lost
        self._is_closed = False
        self._ids = count()
        self._exchanges: dict[int, Exchange] = {}
        # Version of the catalog, as the owner counts it; unknown at first.
        self.version = -1

    async def connect(self, end: socket.socket) -> None:
        """Take over a connected socket."""
        await asyncio.get_running_loop().create_unix_connection(lambda: self._link, sock=end)

    def close(self) -> None:
        """Close this end."""
        self._is_closed = True
        self._link.close()

    def tell_ready(self) -> None:
        """Tell the owner that connections are taken."""
        self._link.send(Ready())

    def begin(self, exchange: Exchange) -> int:
        """Call `exchange` with every message of a new id, until `end`."""
        number = next(self._ids)
        self._exchanges[number] = exchange
        return number

    def end(self, number: int) -> None:
        """Drop further messages of an id."""
        self._exchanges.pop(number, None)

    def send(self, message: Message) -> None:
        """Send a message of an exchange."""
        self._link.send(message)

    async def ask_events(self, call: EventCall) -> EventAnswer:
        """Ask to charge and store; the answer may be a refusal."""
        return await self._ask(call, EventAnswer)

    async def ask_exposures(self, call: ExposureCall) -> ExposureAnswer:
        """Ask which exposures do not count."""
        return await self._ask(call, ExposureAnswer)

    async def _ask(self, call: EventCall | ExposureCall, kind: type[AnswerT]) -> AnswerT:
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        call.id = self.begin(answered.set_result)
        try:
            self._link.send(call)
            answer = await answered
        finally:
            self.end(call.id)
        assert isinstance(answer, kind)  # noqa: S101 - as the owner answers it
        return answer

    def _lose(self) -> None:
        if not self._is_closed:
            self._lost()

    def _receive(self, message: Message) -> None:
        assert not isinstance(message, Ready)  # noqa: S101 - the collector's message
        exchange = self._exchanges.get(message.id)
        if exchange is not None:
            exchange(message)
