"""Checks with a time limit."""

import asyncio
import threading

from api.timed_checks import TimedChecks


def test_a_check_that_hangs_has_not_passed_and_is_not_started_twice() -> None:
    checks, release, started = TimedChecks(), threading.Event(), []

    def hang() -> None:
        started.append(threading.current_thread())
        release.wait(60)

    async def ask() -> list[bool]:
        return [await checks.passes("catalog", hang, 0.05) for _ in range(3)]

    assert asyncio.run(ask()) == [False] * 3
    assert len(started) == 1
    release.set()
    started[0].join()
    assert asyncio.run(checks.passes("catalog", hang, 60))


def test_a_check_that_raises_has_not_passed() -> None:
    def fail() -> None:
        raise OSError("gone")

    assert not asyncio.run(TimedChecks().passes("catalog", fail, 60))


def test_a_hanging_check_delays_no_other() -> None:
    checks, release = TimedChecks(), threading.Event()

    def hang() -> None:
        release.wait(60)

    async def ask() -> list[bool]:
        hanging = asyncio.create_task(checks.passes("catalog", hang, 60))
        passed = await checks.passes("warehouse", lambda: None, 60)
        release.set()
        return [passed, await hanging]

    assert asyncio.run(ask()) == [True, True]
