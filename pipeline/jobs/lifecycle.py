"""What moves experiments when nobody does: their scheduled times, their limits, and a winner."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from engine.analysis.automation.early_stopping import early_winner
from engine.analysis.evidence.totals import Evidence
from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.lifecycle import (
    OPEN,
    conversion_limit_is_reached,
    end_is_due,
    planned_end,
    planned_end_is_reached,
    start_is_due,
    visitor_limit_is_reached,
)
from pipeline.results.results import Results
from pipeline.run_each import run_each
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError

Claim = Callable[[Experiment], bool]


@dataclass(frozen=True, slots=True)
class Limit:
    """What an experiment is to have so many of; `name` is who the audit trail says completed it."""

    name: str
    is_set: Claim
    count: Callable[[Experiment, Evidence], int]
    is_reached: Callable[[Experiment, int], bool]


def _visitors(_experiment: Experiment, evidence: Evidence) -> int:
    return int(evidence.visitors.sum())


def _conversions(experiment: Experiment, evidence: Evidence) -> int:
    goal = experiment.primary_goal
    return 0 if goal is None else int(evidence.conversions[experiment.goals.index(goal)].sum())


VISITOR_LIMIT: Final = Limit(
    "visitor limit",
    lambda experiment: experiment.stop_conditions.visitor_limit is not None,
    _visitors,
    visitor_limit_is_reached,
)
PLANNED_SAMPLE: Final = Limit(
    "planned sample",
    lambda experiment: planned_end(experiment) is not None,
    _visitors,
    planned_end_is_reached,
)
CONVERSION_LIMIT: Final = Limit(
    "conversion limit",
    lambda experiment: experiment.stop_conditions.conversion_limit is not None,
    _conversions,
    conversion_limit_is_reached,
)


def start_scheduled(catalog: Catalog, *, now: datetime) -> None:
    """Start every experiment whose scheduled start has come; ExceptionGroup of those that could not be."""
    is_due = partial(start_is_due, now=now)
    trigger = partial(lifecycle.start, now=now)
    waiting = catalog.experiments.in_statuses(["scheduled"])
    _each(waiting, partial(_move, catalog, is_due, trigger, "scheduled start"))


def complete_ended(catalog: Catalog, *, now: datetime) -> None:
    """Complete every experiment whose scheduled end has come; ExceptionGroup of those that could not be."""
    is_due = partial(end_is_due, now=now)
    trigger = partial(lifecycle.complete, now=now)
    going_on = catalog.experiments.in_statuses(OPEN)
    _each(going_on, partial(_move, catalog, is_due, trigger, "scheduled end"))


def complete_at(limit: Limit, catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Complete every experiment that reached the limit; ExceptionGroup of those that could not be."""

    def complete(experiment: Experiment) -> None:
        project = catalog.projects.find(experiment.project_id)
        count = limit.count(experiment, results.evidence(experiment, project, now=now))
        trigger = partial(lifecycle.complete, now=now)
        _move(catalog, lambda one: limit.is_reached(one, count), trigger, limit.name, experiment)

    _each(filter(limit.is_set, catalog.experiments.in_statuses(OPEN)), complete)


def complete_with_winner(catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Complete every running experiment that is to end with a winner and has one for good.

    ExceptionGroup of those that could not be judged.
    """

    def complete(experiment: Experiment) -> None:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        if winner := early_winner(experiment, evidence, now=now):
            trigger = partial(lifecycle.complete, now=now)
            # What was judged is the experiment as it was.
            _move(catalog, lambda one: one == experiment, trigger, f"auto stop: {winner.id} wins", experiment)

    running = catalog.experiments.in_statuses(["running"])
    _each((one for one in running if one.stop_conditions.auto_stop_on_winner), complete)


class _NotDueError(Exception):
    """Somebody changed the experiment since it was looked at."""


def _move(
    catalog: Catalog,
    is_due: Claim,
    trigger: Callable[[Experiment], Experiment],
    actor: str,
    experiment: Experiment,
) -> None:
    def decide(current: Experiment) -> Experiment:
        if not is_due(current):
            raise _NotDueError
        return trigger(current)

    if not is_due(experiment):
        return
    # Whoever was faster knew what they wanted.
    with suppress(_NotDueError, NotFoundError):
        catalog.experiments.change(experiment.project_id, experiment.id, decide, actor=actor)


def _each(experiments: Iterable[Experiment], work: Callable[[Experiment], None]) -> None:
    run_each({f"experiment {one.id}": partial(work, one) for one in experiments})
