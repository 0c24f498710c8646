"""Pace of traffic: ramps count what each step has let in, and what the next ones will."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.design.experiment import Experiment
from engine.design.lifecycle import start
from engine.design.ramp import Ramp, RampStep
from engine.design.ramp_steps import take_next_step
from engine.design.traffic_pace import TrafficPace, eligible_percent, mean_allocation, traffic_pace
from tests.builders import NOW, an_experiment, some_slots

_DAY = timedelta(days=1)


def ramped() -> Experiment:
    """Run for two days at 10%, then at 50%; 100% comes on the fifth day."""
    steps = (RampStep(percent=10, hours=48), RampStep(percent=50, hours=48), RampStep(percent=100))
    return take_next_step(start(an_experiment(ramp=Ramp(steps=steps)), now=NOW), now=NOW + 2 * _DAY)


def test_the_share_is_the_mean_of_the_running_time() -> None:
    assert mean_allocation(ramped(), now=NOW + 3 * _DAY) == pytest.approx((2 * 10 + 1 * 50) / 3)
    assert mean_allocation(replace(ramped(), status="running"), now=NOW) == 50
    assert mean_allocation(an_experiment(traffic_allocation=40), now=NOW) == 40


def test_of_a_group_the_slots_take_part_alone() -> None:
    in_group = replace(ramped(), group_slots=some_slots(0, 3000))
    assert eligible_percent(in_group, now=NOW + 3 * _DAY) == pytest.approx(0.3 * 70 / 3)
    assert traffic_pace(in_group, days=3.0, now=NOW) == traffic_pace(ramped(), days=3.0, now=NOW)
    assert eligible_percent(an_experiment(traffic_allocation=40), now=NOW) == 40


def test_traffic_grows_by_the_steps_to_come() -> None:
    pace = traffic_pace(ramped(), days=3.0, now=NOW + 3 * _DAY)
    # In days at 50%: two at a fifth of it, and one.
    assert pace.so_far == pytest.approx(1.4)
    assert [pace.until(days) for days in (0.5, 1.0, 2.0)] == pytest.approx([0.5, 1.0, 3.0])
    assert [pace.by(day) for day in (1.5, 3.0, 5.0)] == pytest.approx([0.7, 1.4, 4.4])
    assert [pace.days_until(traffic) for traffic in (0.5, 1.0, 3.0)] == pytest.approx([0.5, 1.0, 2.0])


def test_without_a_ramp_days_are_days() -> None:
    pace = traffic_pace(an_experiment(), days=3.0, now=NOW)
    assert (pace, pace.until(2.5), pace.days_until(2.5)) == (TrafficPace(days=3.0, so_far=3.0), 2.5, 2.5)
