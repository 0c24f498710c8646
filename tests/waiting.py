"""Waiting for a condition: no test sleeps for a fixed time."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

# Generous, since a busy machine may take long; a test that passes never waits for it.
PATIENCE_SECONDS: Final = 60.0
# The longer a wait, the longer its pauses: each look, at a browser or over HTTP, takes processor time.
SHORTEST_PAUSE: Final = 0.005
LONGEST_PAUSE: Final = 0.05

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, within: float = PATIENCE_SECONDS) -> T:
    """Return the first true result of `condition`; TimeoutError after `within` seconds."""
    began = time.monotonic()
    while not (result := condition()):
        pause = _pause(condition, began, within)
        time.sleep(pause)
    return result


async def wait_until_async(condition: Callable[[], T], *, within: float = PATIENCE_SECONDS) -> T:
    """Return the first true result of `condition`, and let other tasks run meanwhile."""
    began = time.monotonic()
    while not (result := condition()):
        pause = _pause(condition, began, within)
        await asyncio.sleep(pause)
    return result


def _pause(condition: Callable[[], Any], began: float, within: float) -> float:
    """Return the seconds until the next look: a tenth of those that were waited."""
    waited = time.monotonic() - began
    if waited > within:
        name = getattr(condition, "__qualname__", str(condition))
        raise TimeoutError(f"{name} was not true within {within:g} seconds")
    return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, waited / 10))
