"""Work off the event loop, in a worker thread: all of it, or what is large."""

from collections.abc import Callable
from typing import Final, TypeVar

from starlette.concurrency import run_in_threadpool

from pipeline.taskless import in_task

# Work on more bytes would delay other requests if it were done on the event loop.
LARGE_BYTES: Final = 2**13

ResultT = TypeVar("ResultT")


async def off_loop(size: int, work: Callable[..., ResultT], *arguments: object) -> ResultT:
    """Do work on `size` bytes: at once, or in a worker thread where they are many."""
    return work(*arguments) if size < LARGE_BYTES else await in_thread(work, *arguments)


async def in_thread(work: Callable[..., ResultT], *arguments: object) -> ResultT:
    """Do work in a worker thread, for a coroutine with or without a task."""
    await in_task()
    return await run_in_threadpool(work, *arguments)
