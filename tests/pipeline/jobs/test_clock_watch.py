"""Clocks that are set."""

from datetime import timedelta

import pytest

from pipeline.jobs.clock_watch import ClockWatch
from tests.builders import NOW


class Times:
    """A clock, and the seconds since an earlier moment."""

    def __init__(self) -> None:
        self.now = NOW
        self.elapsed = 1000.0

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.elapsed += seconds

    def watch(self) -> ClockWatch:
        return ClockWatch(lambda: self.now, lambda: self.elapsed)


@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
def test_a_clock_that_was_set_is_noticed_once(hours: int) -> None:
    times = Times()
    watch = times.watch()
    times.pass_by(60)
    assert watch.jump() == 0
    times.now += timedelta(hours=hours)
    times.pass_by(5)
    assert watch.jump() == pytest.approx(hours * 3600)
    assert watch.jump() == 0


def test_small_corrections_are_not_noticed() -> None:
    times = Times()
    watch = times.watch()
    times.now += timedelta(seconds=1)
    assert watch.jump() == 0
