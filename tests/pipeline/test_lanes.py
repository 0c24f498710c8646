"""Lanes: each item once at a time, a few of each customer, and failures that are told once."""

from functools import partial
from threading import Event

import pytest

from pipeline.lanes import WIDTH, Lanes
from pipeline.run_each import run_each


def test_a_customer_with_slow_items_holds_up_its_own_alone() -> None:
    lanes, released, done = Lanes(), Event(), list[str]()

    def slow(name: str) -> None:
        released.wait()
        done.append(name)

    for number in range(WIDTH + 1):
        lanes.begin("slow", f"s{number}", partial(slow, f"s{number}"))
    lanes.begin("other", "o", lambda: done.append("o"))
    while "o" not in lanes.ended(within=0.01):
        pass
    assert done == ["o"]
    # One that is worked on is not begun a second time.
    lanes.begin("slow", "s0", partial(slow, "again"))
    released.set()
    lanes.close()
    assert sorted(done) == ["o", *(f"s{number}" for number in range(WIDTH))]


def test_failures_are_told_once_and_a_closed_lane_begins_nothing() -> None:
    lanes = Lanes()

    def fail() -> None:
        raise ValueError("out of order")

    lanes.begin("one", "a", fail)
    with pytest.raises(ExceptionGroup) as caught:
        run_each(lanes.ended(within=60))
    assert [error.__notes__ for error in caught.value.exceptions] == [["a"]]
    assert lanes.ended(within=0) == {}
    lanes.close()
    lanes.begin("one", "a", fail)
    assert lanes.ended(within=0) == {}
