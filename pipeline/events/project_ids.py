"""What events of a project may refer to: variants, goals, and the currencies that goals count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

from engine.currencies import USUAL_CURRENCY
from engine.design.exchange_rates import minor_unit_factors
from engine.design.experiment import Experiment
from engine.design.goals import counts_money
from engine.design.project import Project
from pipeline.store.catalog.experiment_changes import ExperimentOutline

AnyExperiment: TypeAlias = Experiment | ExperimentOutline


@dataclass(frozen=True, slots=True)
class ExperimentIds:
    """What events may refer to of one experiment, whatever its status."""

    id: str
    variants: frozenset[str]
    goals: frozenset[str]
    # Names of the events whose `value` some goal counts as money.
    paid_events: frozenset[str]
    # Of revenue goals of a test that has not ended: the goal, its event, and its own currency if it has one.
    revenue: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, experiment: AnyExperiment) -> "ExperimentIds":
        """Collect the ids of an experiment."""
        is_over = experiment.completed_at is not None
        return cls(
            experiment.id,
            frozenset(variant.id for variant in experiment.variants),
            frozenset(goal.id for goal in experiment.goals),
            frozenset(
                goal.tracking["event_name"]
                for goal in experiment.goals
                if counts_money(goal.goal_type, goal.tracking)
            ),
            tuple(
                (goal.id, goal.tracking["event_name"], goal.currency(""))
                for goal in (() if is_over else experiment.goals)
                if goal.goal_type == "revenue"
            ),
        )


@dataclass(frozen=True, slots=True)
class ProjectIds:
    """Ids that events of a project may refer to: variants by experiment, and goals."""

    variants: Mapping[str, frozenset[str]]
    goals: frozenset[str]
    # Names of the events whose `value` some goal counts as money.
    paid_events: frozenset[str] = frozenset()
    # That of money without one.
    currency: str = USUAL_CURRENCY
    # Currencies in which some revenue goal counts an order, by the id of the goal and the name of its event.
    currencies: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, experiments: Iterable[Experiment], project: Project) -> "ProjectIds":
        """Collect the ids of a project's experiments, whatever their status."""
        return cls.together([ExperimentIds.of(one) for one in experiments], project)

    @classmethod
    def together(cls, parts: Iterable[ExperimentIds], project: Project) -> "ProjectIds":
        """Put the ids of a project's experiments together."""
        all_parts = tuple(parts)
        return cls(
            {one.id: one.variants for one in all_parts},
            frozenset(chain.from_iterable(one.goals for one in all_parts)),
            frozenset(chain.from_iterable(one.paid_events for one in all_parts)),
            project.revenue_currency,
            _currencies_of(all_parts, project),
        )


def _currencies_of(parts: Iterable[ExperimentIds], project: Project) -> dict[str, frozenset[str]]:
    """Map revenue goals of tests that have not ended, and their events, to currencies that they count."""
    found: dict[str, set[str]] = {}
    counted: dict[str, frozenset[str]] = {}
    for goal_id, event_name, currency in chain.from_iterable(one.revenue for one in parts):
        own = currency or project.revenue_currency
        if own not in counted:
            factors = minor_unit_factors(project.revenue_currency, project.exchange_rates, own)
            counted[own] = frozenset({own, *factors})
        for name in (goal_id, event_name):
            found.setdefault(name, set()).update(counted[own])
    return {name: frozenset(currencies) for name, currencies in found.items()}
