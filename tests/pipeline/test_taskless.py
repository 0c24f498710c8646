"""Coroutines without a task: told when to go on, in a context of their own, and given a task for the rest."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from pipeline import taskless
from pipeline.taskless import Tell, in_task, told

name: ContextVar[str] = ContextVar("name", default="outside")


def running(work: Callable[[list[Tell], list[Any]], Coroutine[Any, Any, None]]) -> tuple[list[Any], int]:
    """Run a coroutine to its end; return what it has noted, and how many tasks it needed."""

    async def run() -> tuple[list[Any], int]:
        tells, noted, tasks = list[Tell](), list[Any](), set[asyncio.Task[None]]()
        taskless.run(work(tells, noted), lambda _: noted.append("end"), tasks)
        needed = len(tasks)
        async with asyncio.timeout(30):
            while not noted or noted[-1] != "end":
                for tell in tells:
                    tell(None)
                tells.clear()
                await asyncio.sleep(0)
        assert name.get() == "outside"
        return noted[:-1], needed

    return asyncio.run(run())


def test_it_goes_on_when_it_is_told_without_a_task() -> None:
    async def work(tells: list[Tell], noted: list[Any]) -> None:
        name.set("inside")
        await told(tells.append)
        noted.append(name.get())

    assert running(work) == (["inside"], 0)


def test_the_rest_is_a_task_in_the_same_context_once_it_needs_one() -> None:
    async def work(tells: list[Tell], noted: list[Any]) -> None:
        name.set("inside")
        await in_task()
        await in_task()
        noted.append(await asyncio.to_thread(name.get))
        await told(tells.append)
        noted.append(asyncio.current_task() is not None)

    assert running(work) == (["inside", True], 1)


@pytest.mark.parametrize("in_a_task", [True, False])
def test_what_it_is_told_is_raised(*, in_a_task: bool) -> None:
    async def work(noted: list[Any], tells: list[Tell]) -> None:
        try:
            await told(tells.append)
        except ValueError as error:
            noted.append(error)

    async def run() -> list[Any]:
        noted, tells, error = list[Any](), list[Tell](), ValueError("no")
        tasks = set[asyncio.Task[None]]()
        if in_a_task:
            tasks.add(asyncio.create_task(work(noted, tells)))
            await asyncio.sleep(0)
        else:
            taskless.run(work(noted, tells), noted.append, tasks)
        tells[0](error)
        await asyncio.gather(*tasks)
        assert noted[:1] == [error]
        return noted

    asyncio.run(run())


def test_what_is_done_at_its_end_is_outside_of_its_context() -> None:
    async def run() -> list[str]:
        seen = list[str]()

        async def work() -> str:
            name.set("inside")
            return name.get()

        taskless.run(work(), lambda result: seen.extend([result, name.get()]), set())
        return seen

    assert asyncio.run(run()) == ["inside", "outside"]


def test_what_begins_may_refuse_at_once() -> None:
    def refuse(_tell: Tell) -> None:
        raise ValueError

    async def work(_tells: list[Tell], noted: list[Any]) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - the one above
            await told(refuse)

    assert running(work) == ([], 0)


def test_a_task_that_was_cancelled_may_be_told_later() -> None:
    async def run() -> None:
        tells = list[Tell]()

        async def work() -> None:
            await told(tells.append)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        tells[0](None)

    asyncio.run(run())
