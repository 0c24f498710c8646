"""Waiting for a condition: no test sleeps for a fixed time."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

# Generous, since a busy machine may take long; a test that passes never waits for it.
PATIENCE_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.01

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, within: float = PATIENCE_SECONDS) -> T:
    """Return the first true result of `condition`; TimeoutError after `within` seconds."""
    deadline = time.monotonic() + within
    while not (result := condition()):
        _check(condition, deadline, within)
        time.sleep(PAUSE_SECONDS)
    return result


async def wait_until_async(condition: Callable[[], T], *, within: float = PATIENCE_SECONDS) -> T:
    """Return the first true result of `condition`, and let other tasks run meanwhile."""
    deadline = time.monotonic() + within
    while not (result := condition()):
        _check(condition, deadline, within)
        await asyncio.sleep(PAUSE_SECONDS)
    return result


def _check(condition: Callable[[], Any], deadline: float, within: float) -> None:
    if time.monotonic() > deadline:
        name = getattr(condition, "__qualname__", str(condition))
        raise TimeoutError(f"{name} was not true within {within:g} seconds")
