"""The collector's end of its link to the owner of the store: questions, and requests that are passed on."""

import asyncio
import socket
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from api.collectors.link import Link
from api.collectors.messages import (
    EventAnswer,
    EventCall,
    ExposureAnswer,
    ExposureCall,
    Message,
    Ping,
    Pong,
    Ready,
)

Exchange = Callable[[Message], None]
AnswerT = TypeVar("AnswerT", EventAnswer, ExposureAnswer)


class OwnerLink:
    """A link to the owner.

    A call without an answer when the link is lost never returns: the collector ends.
    """

    def __init__(self, lost: Callable[[], None]) -> None:
        """Call `lost` once the owner has closed its end, or has ended."""
        self._link = Link(self._receive, self._lose)
        self._lost = lost
        self._is_closed = False
        self._ids = count()
        self._exchanges: dict[int, Exchange] = {}
        # Version of the catalog, as the owner counts it; unknown at first.
        self.version = -1

    async def connect(self, link_socket: socket.socket) -> None:
        """Take over a connected socket."""
        await asyncio.get_running_loop().create_unix_connection(lambda: self._link, sock=link_socket)

    def close(self) -> None:
        """Close this end."""
        self._is_closed = True
        self._link.close()

    def tell_ready(self) -> None:
        """Tell the owner that connections are taken."""
        self._link.send(Ready())

    def begin(self, exchange: Exchange) -> int:
        """Call `exchange` with every message of a new id, until `drop_exchange`."""
        exchange_id = next(self._ids)
        self._exchanges[exchange_id] = exchange
        return exchange_id

    def drop_exchange(self, exchange_id: int) -> None:
        """Drop further messages of an id."""
        self._exchanges.pop(exchange_id, None)

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
        call.exchange_id = self.begin(answered.set_result)
        try:
            self._link.send(call)
            answer = await answered
        finally:
            self.drop_exchange(call.exchange_id)
        assert isinstance(answer, kind)  # noqa: S101 - as the owner answers it
        return answer

    def _lose(self) -> None:
        if not self._is_closed:
            self._lost()

    def _receive(self, message: Message) -> None:
        if isinstance(message, Ping):
            self._link.send(Pong())
            return
        assert not isinstance(message, Ready | Pong)  # noqa: S101 - the collector's messages
        exchange = self._exchanges.get(message.exchange_id)
        if exchange is not None:
            exchange(message)
