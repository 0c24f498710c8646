"""Lifecycle jobs: scheduled starts and ends, limits, and early stopping for a winner."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from engine.analysis.evidence.evidence import Evidence
from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.lifecycle import (
    OPEN,
    conversion_limit_is_reached,
    end_is_due,
    planned_end,
    planned_end_is_reached,
    start_has_passed,
    start_is_due,
    visitor_limit_is_reached,
    window_is_missed,
)
from engine.design.reviewing import lacks_yes
from pipeline.results.results import Results
from pipeline.run_each import run_each
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.experiments import Decide

Condition = Callable[[Experiment], bool]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit at which an experiment is completed; `name` is the actor in the audit trail."""

    name: str
    is_set: Condition
    count: Callable[[Experiment, Evidence], int]
    is_reached: Callable[[Experiment, int], bool]


def _visitors(_experiment: Experiment, evidence: Evidence) -> int:
    return int(evidence.visitors.sum())


def _known_outcomes(experiment: Experiment, evidence: Evidence) -> int:
    goal = experiment.primary_goal
    return evidence.known_outcomes(None if goal is None else experiment.goals.index(goal))


def _conversions(experiment: Experiment, evidence: Evidence) -> int:
    goal = experiment.primary_goal
    return 0 if goal is None else int(evidence.totals.conversions[experiment.goals.index(goal)].sum())


VISITOR_LIMIT: Final = Limit(
    "visitor limit",
    lambda experiment: experiment.stop_conditions.visitor_limit is not None,
    _visitors,
    visitor_limit_is_reached,
)
CONVERSION_LIMIT: Final = Limit(
    "conversion limit",
    lambda experiment: experiment.stop_conditions.conversion_limit is not None,
    _conversions,
    conversion_limit_is_reached,
)


def start_scheduled(catalog: Catalog, *, now: datetime) -> None:
    """Start every experiment whose scheduled start has come; ExceptionGroup of the failures.

    One whose scheduled end has passed as well is started and completed as of its scheduled times. One that
    starts late starts `now`, since its visitors were assigned no variant before. One that lacks a second
    member's yes to what it is now stays scheduled.
    """
    late = [("scheduled start", partial(lifecycle.start, now=now))]
    missed = [
        ("scheduled start", partial(lifecycle.start_as_scheduled, now=now)),
        ("scheduled end", partial(lifecycle.complete_as_scheduled, now=now)),
    ]

    def move(experiment: Experiment) -> None:
        if not start_has_passed(experiment, now):
            return
        facts = catalog.experiments.review_facts(experiment)

        def approved(is_due: Callable[..., bool]) -> Condition:
            return lambda one: is_due(one, now=now) and lacks_yes(one, "start", facts) is None

        change_if_due(catalog, approved(start_is_due), late, experiment)
        change_if_due(catalog, approved(window_is_missed), missed, experiment)

    each_experiment(catalog.experiments.in_statuses(["scheduled"]), move)


def complete_ended(catalog: Catalog, *, now: datetime) -> None:
    """Complete every experiment whose scheduled end has come; ExceptionGroup of the failures."""
    is_due = partial(end_is_due, now=now)
    trigger = partial(lifecycle.complete, now=now)
    unfinished = catalog.experiments.in_statuses(OPEN)
    each_experiment(unfinished, partial(change_if_due, catalog, is_due, [("scheduled end", trigger)]))


def complete_at(limit: Limit, catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Complete every experiment that has reached the limit; ExceptionGroup of the failures."""

    def complete(experiment: Experiment) -> None:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        if evidence.missing_sources:
            # They would never count.
            return
        count = limit.count(experiment, evidence)
        trigger = partial(lifecycle.complete, now=now)
        change_if_due(catalog, lambda one: limit.is_reached(one, count), [(limit.name, trigger)], experiment)

    each_experiment(filter(limit.is_set, catalog.experiments.in_statuses(OPEN)), complete)


def complete_at_plan(catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Complete every group-sequential experiment at its planned sample, once its last look is recorded.

    Not within the first week, in which no plan is reached. ExceptionGroup of the failures.
    """

    def complete(experiment: Experiment) -> None:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        visitors = _known_outcomes(experiment, evidence)
        if evidence.missing_sources or not planned_end_is_reached(experiment, visitors):
            return
        report = results.report(experiment, project, now=now)
        if report.plan.is_reached and report.due_look is None:
            trigger = partial(lifecycle.complete, now=now)
            is_due = partial(planned_end_is_reached, visitors=visitors)
            change_if_due(catalog, is_due, [("planned sample", trigger)], experiment)

    planned = (one for one in catalog.experiments.in_statuses(OPEN) if planned_end(one) is not None)
    each_experiment(planned, complete)


def complete_with_winner(catalog: Catalog, results: Results, *, now: datetime) -> None:
    """Complete every running experiment that stops at a winner and has a final one.

    Where outcomes of its visitors are still to come it is paused, so that nobody new enters, and completed
    once they are known. ExceptionGroup of the failures.
    """
    from engine.analysis.automation.early_stopping import (  # noqa: PLC0415 - slow, and not needed at a start
        early_winner,
        open_outcomes,
        waits_for_outcomes,
    )

    def complete(experiment: Experiment) -> None:
        project = catalog.projects.find(experiment.project_id)
        evidence = results.evidence(experiment, project, now=now)
        looks = catalog.recorded_looks.of(experiment.id)
        is_open = open_outcomes(experiment, evidence) > 0
        if experiment.status == "paused" and (is_open or not waits_for_outcomes(experiment)):
            return
        if winner := early_winner(experiment, evidence, now=now, looks=looks):
            # Recorded, so that no late event takes the win away.
            results.report(experiment, project, now=now)
            trigger = partial(lifecycle.pause if is_open else lifecycle.complete, now=now)
            # The winner is that of the experiment that was analyzed, not of a later version.
            steps = [(f"auto stop: {winner.id} wins", trigger)]
            change_if_due(catalog, lambda one: one == experiment, steps, experiment)

    unfinished = catalog.experiments.in_statuses(OPEN)
    each_experiment((one for one in unfinished if one.stop_conditions.auto_stop_on_winner), complete)


class _NotDueError(Exception):
    """The experiment was changed after it was read."""


def change_if_due(
    catalog: Catalog, is_due: Condition, steps: Sequence[tuple[str, Decide]], experiment: Experiment
) -> None:
    """Change an experiment by `steps`, each with its actor, in one transaction, if it is still due."""
    (actor, first), *others = steps

    def decide(current: Experiment) -> Experiment:
        if not is_due(current):
            raise _NotDueError
        return first(current)

    if not is_due(experiment):
        return
    # The other change stands.
    with suppress(_NotDueError, NotFoundError):
        catalog.experiments.change_in_steps(
            experiment.project_id, experiment.id, [(actor, decide), *others], with_holdouts=True
        )


def each_experiment(experiments: Iterable[Experiment], work: Callable[[Experiment], None]) -> None:
    """Do the work for each experiment that is not deleted meanwhile; ExceptionGroup of the failures."""

    def work_unless_deleted(experiment: Experiment) -> None:
        with suppress(NotFoundError):
            work(experiment)

    run_each({f"experiment {one.id}": partial(work_unless_deleted, one) for one in experiments})
