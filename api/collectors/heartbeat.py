"""Heartbeat of a collector: asked for by the owner, and missed where the collector hangs."""

import asyncio
from collections.abc import Callable
from typing import Final

from api.collectors.messages import Message, Ping

# A collector answers between any two requests. One is given up after two seconds, and another is there within
# five: to start takes 1.7 of a processor. A kill loses nothing that was acknowledged.
PING_SECONDS: Final = 0.4
MOST_MISSED: Final = 5
# An owner that is woken so late is on a machine that is too busy for the collector as well.
LATE_SECONDS: Final = 0.3


class Heartbeat:
    """Questions to one collector whether it is alive."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        """Ask by `send`."""
        self._send = send
        self._is_answered = False

    def note_answer(self) -> None:
        """Note that the collector has answered."""
        self._is_answered = True

    async def wait_until_missed(self) -> None:
        """Ask again and again; return once several questions in a row have had no answer."""
        loop, missed = asyncio.get_running_loop(), 0
        while missed < MOST_MISSED:
            self._is_answered = False
            self._send(Ping())
            due = loop.time() + PING_SECONDS
            await asyncio.sleep(PING_SECONDS)
            is_late = loop.time() > due + LATE_SECONDS
            missed = 0 if self._is_answered else missed + (not is_late)
