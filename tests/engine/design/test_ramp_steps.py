"""Steps of a ramp: growing traffic by running time, one step after another."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.design.drafting import draft_experiment, revise_experiment
from engine.design.experiment import Experiment
from engine.design.lifecycle import complete, pause, resume, start
from engine.design.ramp import Ramp, RampStep
from engine.design.ramp_steps import coming_steps, is_over, next_step_is_due, take_next_step
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, a_project, an_experiment

_HOUR = timedelta(hours=1)
_RAMP = Ramp(steps=(RampStep(percent=1, hours=2), RampStep(percent=25, hours=4), RampStep(percent=100)))


def started(ramp: Ramp = _RAMP) -> Experiment:
    return start(an_experiment(ramp=ramp), now=NOW)


def due(experiment: Experiment, now: datetime) -> bool:
    return next_step_is_due(experiment, counted_until=now, now=now)


def test_traffic_grows_step_by_step_after_hours_without_pauses() -> None:
    experiment = started()
    assert experiment.traffic_allocation == 1
    assert not due(experiment, NOW + 1.9 * _HOUR)
    paused = pause(experiment, now=NOW + _HOUR)
    assert not due(paused, NOW + 9 * _HOUR)
    resumed = resume(paused, now=NOW + 10 * _HOUR)
    assert not due(resumed, NOW + 10.9 * _HOUR)
    assert due(resumed, NOW + 11 * _HOUR)
    second = take_next_step(resumed, now=NOW + 11 * _HOUR)
    assert second.traffic_allocation == 25
    # A service that was down for a week takes one step, and waits again.
    assert due(second, NOW + 200 * _HOUR)
    last = take_next_step(second, now=NOW + 200 * _HOUR)
    assert [(one.percent, one.started_at) for one in last.ramp_steps] == [
        (1, NOW),
        (25, NOW + 11 * _HOUR),
        (100, NOW + 200 * _HOUR),
    ]
    assert not due(last, NOW + 999 * _HOUR)
    assert not is_over(last, now=NOW + 999 * _HOUR)


def test_a_step_needs_results_that_count_half_of_the_one_before() -> None:
    now = NOW + 2 * _HOUR
    assert not next_step_is_due(started(), counted_until=NOW + 0.9 * _HOUR, now=now)
    assert next_step_is_due(started(), counted_until=NOW + _HOUR, now=now)


def test_a_last_step_with_hours_ends_the_ramp() -> None:
    experiment = started(Ramp(steps=(RampStep(percent=10, hours=3),)))
    assert [is_over(experiment, now=NOW + hours * _HOUR) for hours in (2.9, 3)] == [False, True]


def test_coming_steps_are_told_with_the_running_time_until_each() -> None:
    experiment = started()
    assert coming_steps(experiment, now=NOW + _HOUR) == [(_HOUR, 25), (5 * _HOUR, 100)]
    assert coming_steps(experiment, now=NOW + 3 * _HOUR) == [(timedelta(), 25), (4 * _HOUR, 100)]
    assert coming_steps(an_experiment(), now=NOW) == []


def test_a_clock_that_is_set_back_takes_no_step_before_the_last_one() -> None:
    later = take_next_step(started(), now=NOW + 3 * _HOUR)
    again = take_next_step(later, now=NOW)
    assert again.ramp_steps[-1].started_at == NOW + 3 * _HOUR


def test_a_second_start_takes_no_second_first_step() -> None:
    with pytest.raises(TransitionError):
        start(started(), now=NOW + _HOUR)
    assert complete(started(), now=NOW + _HOUR).ramp_steps == started().ramp_steps


@pytest.mark.parametrize(
    ("steps", "field"),
    [
        ([], "ramp.steps"),
        ([{"percent": 5, "hours": 1}, {"percent": 5}], "ramp.steps[1].percent"),
        ([{"percent": 5, "hours": 1}, {"percent": 4}], "ramp.steps[1].percent"),
        ([{"percent": 5}, {"percent": 10}], "ramp.steps[0].hours"),
        ([{"percent": 0}], "ramp.steps[0].percent"),
        ([{"percent": 101}], "ramp.steps[0].percent"),
        ([{"percent": 1, "hours": 0}], "ramp.steps[0].hours"),
        ([{"percent": 1, "days": 1}], "ramp.steps[0].days"),
        ([{"percent": n, "hours": 1} for n in range(1, 22)], "ramp.steps"),
        ("fast", "ramp.steps"),
    ],
)
def test_steps_that_do_not_grow_are_refused_by_name(steps: Any, field: str) -> None:
    with pytest.raises(InvalidDesignError) as refused:
        draft({"ramp": {"steps": steps}})
    assert field in [problem.field for problem in refused.value.problems]


def test_a_bandit_has_no_ramp() -> None:
    with pytest.raises(InvalidDesignError, match="fixed weights"):
        draft({"ramp": {"steps": [{"percent": 5}]}, "traffic_strategy": "bandit"})


def test_a_paused_experiment_keeps_its_ramp_and_its_traffic() -> None:
    paused = pause(started(), now=NOW + _HOUR)
    for fields in ({"ramp": None}, {"traffic_allocation": 50}):
        with pytest.raises(TransitionError) as refused:
            revise(paused, fields)
        assert [problem.field for problem in refused.value.problems] == [*fields]
    as_read = {
        "steps": [{"percent": 1, "hours": 2}, {"percent": 25, "hours": 4}, {"percent": 100, "hours": None}]
    }
    same = {"ramp": as_read | {"on_harm": "rollback"}, "traffic_allocation": 1, "name": "New"}
    assert revise(paused, same) == replace(paused, name="New", updated_at=NOW)


def draft(fields: dict[str, Any]) -> Experiment:
    return draft_experiment(
        {"name": "Test", **fields},
        id="exp_2",
        project=a_project(),
        now=NOW,
        new_id=lambda prefix: f"{prefix}_1",
    )


def revise(experiment: Experiment, fields: dict[str, Any]) -> Experiment:
    return revise_experiment(experiment, fields, now=NOW, new_id=lambda prefix: f"{prefix}_1")
