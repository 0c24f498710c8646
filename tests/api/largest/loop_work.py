"""Work on the event loop, counted in calls of functions, which no busy machine changes."""

import sys
from asyncio import events
from collections import Counter
from collections.abc import Callable, Iterator
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
    """The functions that made the calls of the longest step, for the message of a test."""

    def end_step(self, callers: list[CodeType]) -> None:
        """Keep the callers of a step if they are the most until now."""
        if len(callers) > self.longest:
            self.longest = len(callers)
            self.names = Counter(code.co_qualname for code in callers)


def profile_of(work: LoopWork) -> Callable[[FrameType, str, Any], None]:
    """Return the profile function of a thread that counts its work."""
    callers: list[CodeType] = []

    # It runs for each call that it counts: it only appends.
    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code is _STEP and event in {"call", "return"}:
            work.end_step(callers)
            callers.clear()
        elif event == "call" or event == "c_call":  # noqa: PLR1714 - faster than a set
            callers.append(code)

    return profile


@contextmanager
def loop_work(client: TestClient) -> Iterator[LoopWork]:
    """Count the work of the event loop that serves a client, inside the block."""
    assert client.portal is not None
    work = LoopWork()
    client.portal.call(sys.setprofile, profile_of(work))
    try:
        yield work
    finally:
        client.portal.call(sys.setprofile, None)
