"""Long work of requests in slices, between which the event loop serves other requests."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

from pipeline.taskless import in_task

T = TypeVar("T")


class Turns:
    """Turns of requests whose work takes several slices: between any two slices, the event loop goes on."""

    def __init__(self) -> None:
        """Start without any work."""
        self._turn = asyncio.Lock()

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Run work to its end, pausing where it yields; what it does before the first time runs at once.

        Requests take turns, slice by slice, in the order of their arrival.
        """
        try:
            next(steps)
            await in_task()
            while True:
                async with self._turn:
                    await asyncio.sleep(0)
                    next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
