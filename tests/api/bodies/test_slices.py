"""Turns of work in slices: short work at once, long work slice by slice, others in between."""

import asyncio
from collections.abc import Generator
from itertools import pairwise

import pytest

from api.bodies.slices import Turns


def work(name: str, slices: int, log: list[str]) -> Generator[None, None, str]:
    for number in range(slices):
        if number:
            yield
        log.append(f"{name}{number}")
    return name


def test_work_of_one_slice_runs_at_once() -> None:
    log: list[str] = []

    async def main() -> None:
        beside = asyncio.create_task(turn_of_the_loop(log))
        assert await Turns().run(work("a", 1, log)) == "a"
        await beside

    asyncio.run(main())
    assert log == ["a0", "loop"]


async def turn_of_the_loop(log: list[str]) -> None:
    log.append("loop")


def test_the_loop_goes_on_between_two_slices_of_any_work() -> None:
    log: list[str] = []
    jobs = 5

    async def loop_until(done: asyncio.Event) -> None:
        while not done.is_set():
            log.append("loop")
            await asyncio.sleep(0)

    async def main() -> None:
        turns, done = Turns(), asyncio.Event()
        beside = asyncio.create_task(loop_until(done))
        names = [chr(ord("a") + number) for number in range(jobs)]
        assert await asyncio.gather(*(turns.run(work(name, 4, log)) for name in names)) == names
        done.set()
        await beside

    asyncio.run(main())
    # The first slice of each runs when it comes, the others one at a time, in turn.
    others = [entry for entry in log if not entry.endswith("0")]
    assert not [pair for pair in pairwise(others) if "loop" not in pair]
    order = [entry for entry in others if entry != "loop"]
    assert order == [f"{chr(ord('a') + job)}{number}" for number in (1, 2, 3) for job in range(jobs)]


def test_an_error_in_a_slice_is_raised_and_the_next_has_its_turn() -> None:
    def failing() -> Generator[None, None, str]:
        yield
        raise ValueError("no JSON")

    async def main() -> None:
        turns = Turns()
        with pytest.raises(ValueError, match="no JSON"):
            await turns.run(failing())
        assert await turns.run(work("a", 3, [])) == "a"

    asyncio.run(main())
