"""Pace of an experiment's traffic: the share of eligible visitors who took part, and will by its ramp."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from engine.design.exclusion.group_slots import SLOTS, number_of
from engine.design.experiment import Experiment
from engine.design.ramp_steps import coming_steps
from engine.design.running_time import running_days

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPace:
    """Traffic in days at the present share: `so_far`, after so many running `days`, and what is to come.

    Steps to come are (days from now, growth), where growth is the share of a step over the present one.
    Without a ramp `so_far` are the running days.
    """

    days: float
    so_far: float
    coming: tuple[tuple[float, float], ...] = ()

    def by(self, day: float) -> float:
        """Return the traffic from the start to a running day."""
        if self.so_far == self.days and not self.coming:
            return day
        if day <= self.days:
            return self.so_far * day / self.days
        return self.so_far + self.until(day - self.days)

    def until(self, days: float) -> float:
        """Return the traffic from now until so many running days later, in days at the present share."""
        total = 0.0
        for (begins, growth), (ends, _) in self._parts():
            total += growth * max(0.0, min(days, ends) - begins)
        return total

    def days_until(self, traffic: float) -> float:
        """Return the running days until so much traffic, in days at the present share, has come."""
        for (begins, growth), (ends, _) in self._parts():
            if traffic <= growth * (ends - begins):
                return begins + traffic / growth
            traffic -= growth * (ends - begins)
        return float("inf")

    def _parts(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        return list(pairwise([(0.0, 1.0), *self.coming, (float("inf"), 0.0)]))


def traffic_pace(experiment: Experiment, *, days: float, now: datetime | None) -> TrafficPace:
    """Return the pace of an experiment that ran for so many `days`; a constant one without a ramp."""
    if now is None or not experiment.ramp_steps or not days:
        return TrafficPace(days=days, so_far=days)
    present = experiment.ramp_steps[-1].percent
    coming = ((wait / _DAY, percent / present) for wait, percent in coming_steps(experiment, now=now))
    so_far = days * mean_allocation(experiment, now=now) / present
    return TrafficPace(days=days, so_far=so_far, coming=tuple(coming))


def eligible_percent(experiment: Experiment, *, now: datetime | None) -> float:
    """Return the percent of eligible visitors who took part: of a group, those of its slots alone."""
    taken = experiment.group_slots
    share = 1.0 if taken is None else number_of(taken.slots) / SLOTS
    return share * mean_allocation(experiment, now=now)


def mean_allocation(experiment: Experiment, *, now: datetime | None) -> float:
    """Return the traffic allocation on average of the running time until `now`."""
    steps = experiment.ramp_steps
    if now is None or not steps:
        return experiment.traffic_allocation
    total = running_days(experiment, until=now)
    if not total:
        return experiment.traffic_allocation
    begun = [running_days(experiment, until=one.started_at) for one in steps]
    parts = zip(steps, pairwise([*begun, total]), strict=True)
    return sum(one.percent * (ends - begins) for one, (begins, ends) in parts) / total
