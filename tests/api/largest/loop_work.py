"""Work on the event loop, counted in calls of functions, which no busy machine changes."""

import sys
from asyncio import events
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

from fastapi.testclient import TestClient

# Of the standard library: runs what is due next, the one step of a turn.
_STEP: Final[CodeType] = events.Handle._run.__code__  # noqa: SLF001 - not public


@dataclass(slots=True)
class LoopWork:
    """Calls of Python and C functions between two turns of an event loop."""

    longest: int = 0
    """The calls of the step with the most of them, which nothing else could interrupt."""
    names: Counter[str] = field(default_factory=Counter)
    """The functions that the longest step called, for the message of a test."""
    _calls: Counter[str] = field(default_factory=Counter)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count an event of the thread's profile."""
        if event in {"call", "return"} and frame.f_code is _STEP:
            self._end_step()
        elif event in {"call", "c_call"}:
            self._calls[frame.f_code.co_qualname] += 1

    def _end_step(self) -> None:
        if (calls := self._calls.total()) > self.longest:
            self.longest, self.names = calls, self._calls
        self._calls = Counter()


@contextmanager
def loop_work(client: TestClient) -> Iterator[LoopWork]:
    """Count the work of the event loop that serves a client, inside the block."""
    assert client.portal is not None
    work = LoopWork()
    client.portal.call(sys.setprofile, work)
    try:
        yield work
    finally:
        client.portal.call(sys.setprofile, None)
