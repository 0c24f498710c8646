"""Steps of a ramp: the first at the start, the next ones after their hours."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from engine.design.experiment import Experiment
from engine.design.ramp import RampStep, TakenStep
from engine.design.running_time import running_time


def with_first_step(experiment: Experiment, *, now: datetime) -> Experiment:
    """Take the first step of a ramp at the start; without a ramp, or where it was taken, change nothing."""
    if experiment.ramp is None or experiment.ramp_steps:
        return experiment
    first = experiment.ramp.steps[0].percent
    taken = (TakenStep(percent=first, started_at=now),)
    return replace(experiment, traffic_allocation=first, ramp_steps=taken)


def current_step(experiment: Experiment) -> RampStep | None:
    """Return the step that an experiment is at; None without a ramp, and before the start."""
    if experiment.ramp is None or not experiment.ramp_steps:
        return None
    return experiment.ramp.steps[len(experiment.ramp_steps) - 1]


def coming_steps(experiment: Experiment, *, now: datetime) -> list[tuple[timedelta, int]]:
    """List the steps to come: the running time from now until each, and its percent."""
    step = current_step(experiment)
    if step is None or experiment.ramp is None:
        return []
    found, wait = list[tuple[timedelta, int]](), -_time_at_step(experiment, now)
    for before, after in pairwise(_rest(experiment)):
        wait = max(timedelta(), wait + timedelta(hours=before.hours or 0.0))
        found.append((wait, after.percent))
    return found


def is_over(experiment: Experiment, *, now: datetime) -> bool:
    """Tell whether the hours of a ramp's last step are over; never where that has none."""
    step = current_step(experiment)
    if step is None or step.hours is None or len(_rest(experiment)) > 1:
        return False
    return _hours_are_over(experiment, step, now)


def next_step_is_due(experiment: Experiment, *, counted_until: datetime, now: datetime) -> bool:
    """Tell whether a running experiment has spent the hours of a step that is not the last one.

    Its results have to count half of them at least.
    """
    step = current_step(experiment)
    if step is None or step.hours is None or experiment.status != "running" or len(_rest(experiment)) == 1:
        return False
    is_counted = counted_until >= now - timedelta(hours=step.hours / 2)
    return is_counted and _hours_are_over(experiment, step, now)


def take_next_step(experiment: Experiment, *, now: datetime) -> Experiment:
    """Raise the traffic to the next step; nobody who takes part changes variant."""
    percent, last = _rest(experiment)[1].percent, experiment.ramp_steps[-1]
    taken = TakenStep(percent=percent, started_at=max(now, last.started_at))
    steps = (*experiment.ramp_steps, taken)
    return replace(experiment, traffic_allocation=percent, ramp_steps=steps, updated_at=now)


def _rest(experiment: Experiment) -> tuple[RampStep, ...]:
    """Return the step that an experiment is at, and those after it."""
    steps = () if experiment.ramp is None else experiment.ramp.steps
    return steps[max(len(experiment.ramp_steps) - 1, 0) :]


def _time_at_step(experiment: Experiment, now: datetime) -> timedelta:
    begun = running_time(experiment, until=experiment.ramp_steps[-1].started_at)
    return max(timedelta(), running_time(experiment, until=now) - begun)


def _hours_are_over(experiment: Experiment, step: RampStep, now: datetime) -> bool:
    return _time_at_step(experiment, now) >= timedelta(hours=step.hours or 0.0)
