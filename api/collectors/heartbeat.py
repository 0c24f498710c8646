"""Heartbeat of a collector: asked for by the owner, and missed where the collector hangs."""

import asyncio
from collections.abc import Callable
from typing import Final

from api.collectors.messages import Message, Ping

# A collector answers between any two requests; one on a busy machine is late, and not for so long.
PING_SECONDS: Final = 5.0
# While the service stops, others wait for the collector; a kill loses nothing that was acknowledged.
STOPPING_PING_SECONDS: Final = 1.0
# Counted by the owner's own clock: while the owner itself stands still, none is missed.
MOST_MISSED: Final = 6


class Heartbeat:
    """Questions to one collector whether it is alive."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        """Ask by `send`."""
        self._send = send
        self._is_answered = False

    def note_answer(self) -> None:
        """Note that the collector has answered."""
        self._is_answered = True

    async def wait_until_missed(self, *, is_stopping: bool = False) -> None:
        """Ask again and again; return once several questions in a row have had no answer."""
        missed = 0
        while missed < MOST_MISSED:
            self._is_answered = False
            self._send(Ping())
            await asyncio.sleep(STOPPING_PING_SECONDS if is_stopping else PING_SECONDS)
            missed = 0 if self._is_answered else missed + 1
