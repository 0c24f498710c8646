"""Coroutines without a task: run by callbacks of the event loop, until one needs a task after all.

A task, a future and two turns of the event loop take longer than storing an event.
"""

from asyncio import Future, Task, get_running_loop
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from functools import partial
from types import coroutine
from typing import Any, Final, TypeAlias, TypeVar

# Called once, in the thread of the event loop: with None, or with the error to raise.
Tell: TypeAlias = Callable[[Exception | None], None]

ResultT = TypeVar("ResultT")

_has_task: Final[ContextVar[bool]] = ContextVar("has_task", default=True)


class _Waiting:
    """A coroutine that waits to be told."""

    __slots__ = ("error", "resume")

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.resume: Callable[[], None]

    def tell(self, error: Exception | None) -> None:
        self.error = error
        self.resume()


def run(work: Coroutine[Any, Any, ResultT], done: Callable[[ResultT], None], tasks: set[Task[None]]) -> None:
    """Run a coroutine, in a context of its own, and give its result to `done`, outside of this context.

    A task that it needs is among `tasks`.
    """
    context = copy_context()
    context.run(_has_task.set, False)
    _go_on(work, done, tasks, context)


def _go_on(
    work: Coroutine[Any, Any, ResultT],
    done: Callable[[ResultT], None],
    tasks: set[Task[None]],
    context: Context,
) -> None:
    try:
        waiting: _Waiting | None = context.run(work.send, None)
    except StopIteration as end:
        done(end.value)
        return
    if waiting is not None:
        waiting.resume = partial(_go_on, work, done, tasks, context)
        return
    context.run(_has_task.set, True)
    task = get_running_loop().create_task(_end(work, done), context=context)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


@coroutine
def in_task() -> Generator[None, None, None]:
    """Go on in a task, which whatever waits for threads, locks or futures has to."""
    if not _has_task.get():
        yield


@coroutine
def told(begin: Callable[[Tell], None]) -> Generator[Any, Any, None]:
    """Give `begin` a function, wait until it is called, and raise the error that it is called with."""
    waiting = _Waiting()
    begin(waiting.tell)
    if _has_task.get():
        called = get_running_loop().create_future()
        waiting.resume = partial(_resolve, called)
        yield from called
    else:
        yield waiting
    if waiting.error is not None:
        raise waiting.error


def _resolve(called: Future[None]) -> None:
    # A task that was cancelled waits no longer.
    if not called.done():
        called.set_result(None)


async def _end(work: Coroutine[Any, Any, ResultT], done: Callable[[ResultT], None]) -> None:
    done(await _resumed(work))


@coroutine
def _resumed(work: Coroutine[Any, Any, ResultT]) -> Generator[Any, Any, ResultT]:
    # `await` refuses a coroutine that has begun.
    result: ResultT = yield from work
    return result
