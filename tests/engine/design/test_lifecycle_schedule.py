from datetime import timedelta

import pytest

from engine.design.experiment import StopConditions
from engine.design.lifecycle import (
    complete_as_scheduled,
    conversion_limit_is_reached,
    end_is_due,
    start_as_scheduled,
    start_is_due,
    visitor_limit_is_reached,
    window_is_missed,
)
from tests.builders import NOW, an_experiment

SECOND = timedelta(seconds=1)
NOT_OPEN = ("draft", "scheduled", "completed", "archived")


def test_start_is_due_at_its_time_and_not_before() -> None:
    scheduled = an_experiment(status="scheduled", scheduled_start_at=NOW)
    assert not start_is_due(scheduled, now=NOW - SECOND)
    assert start_is_due(scheduled, now=NOW)
    assert start_is_due(scheduled, now=NOW + timedelta(days=3))


def test_start_is_not_due_once_the_end_has_passed() -> None:
    scheduled = an_experiment(
        status="scheduled", scheduled_start_at=NOW, scheduled_end_at=NOW + timedelta(days=1)
    )
    assert start_is_due(scheduled, now=NOW + timedelta(hours=23))
    assert not start_is_due(scheduled, now=NOW + timedelta(days=1))


def test_window_is_missed_once_its_end_has_passed() -> None:
    scheduled = an_experiment(status="scheduled", scheduled_start_at=NOW, scheduled_end_at=NOW + SECOND)
    assert not window_is_missed(scheduled, now=NOW + SECOND / 2)
    assert window_is_missed(scheduled, now=NOW + SECOND)
    assert not window_is_missed(an_experiment(status="scheduled", scheduled_start_at=NOW), now=NOW + SECOND)


def test_missed_window_is_kept_as_the_time_in_which_it_ran() -> None:
    end, now = NOW + timedelta(days=1), NOW + timedelta(days=9)
    scheduled = an_experiment(status="scheduled", scheduled_start_at=NOW, scheduled_end_at=end)
    completed = complete_as_scheduled(start_as_scheduled(scheduled, now=now), now=now)
    assert (completed.status, completed.started_at, completed.completed_at) == ("completed", NOW, end)
    assert completed.updated_at == now


@pytest.mark.parametrize("status", ["draft", "running", "paused", "completed", "archived"])
def test_no_other_status_has_a_missed_window(status: str) -> None:
    experiment = an_experiment(status=status, scheduled_start_at=NOW, scheduled_end_at=NOW + SECOND)
    assert not window_is_missed(experiment, now=NOW + timedelta(days=1))


@pytest.mark.parametrize("status", ["draft", "running", "paused", "completed", "archived"])
def test_only_what_was_scheduled_starts_by_itself(status: str) -> None:
    assert not start_is_due(an_experiment(status=status, scheduled_start_at=NOW), now=NOW)


@pytest.mark.parametrize("status", ["running", "paused"])
def test_end_is_due_at_its_time_and_not_before(status: str) -> None:
    experiment = an_experiment(status=status, scheduled_end_at=NOW)
    assert not end_is_due(experiment, now=NOW - SECOND)
    assert end_is_due(experiment, now=NOW)


@pytest.mark.parametrize("status", ["draft", "completed", "archived"])
def test_end_of_what_does_not_run_is_never_due(status: str) -> None:
    assert not end_is_due(an_experiment(status=status, scheduled_end_at=NOW), now=NOW)


@pytest.mark.parametrize("status", ["running", "paused"])
def test_limits_are_reached_exactly(status: str) -> None:
    limits = StopConditions(visitor_limit=100, conversion_limit=10)
    experiment = an_experiment(status=status, stop_conditions=limits)
    assert [visitor_limit_is_reached(experiment, count) for count in (99, 100, 101)] == [False, True, True]
    assert [conversion_limit_is_reached(experiment, count) for count in (9, 10, 11)] == [False, True, True]


@pytest.mark.parametrize("status", NOT_OPEN)
def test_limits_mean_nothing_before_and_after(status: str) -> None:
    limits = StopConditions(visitor_limit=1, conversion_limit=1)
    experiment = an_experiment(status=status, stop_conditions=limits)
    assert not visitor_limit_is_reached(experiment, 5)
    assert not conversion_limit_is_reached(experiment, 5)


def test_no_limit_is_never_reached() -> None:
    running = an_experiment(status="running")
    assert not visitor_limit_is_reached(running, 10**12)
    assert not conversion_limit_is_reached(running, 10**12)
