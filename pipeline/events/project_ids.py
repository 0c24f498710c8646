"""What events of a project may refer to: variants, goals, and the currencies that goals count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.currencies import USUAL_CURRENCY
from engine.design.exchange_rates import minor_unit_factors
from engine.design.experiment import Experiment
from engine.design.goals import counts_money
from engine.design.project import Project


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
        all_experiments = tuple(experiments)
        return cls(
            {
                experiment.id: frozenset(variant.id for variant in experiment.variants)
                for experiment in all_experiments
            },
            frozenset(goal.id for experiment in all_experiments for goal in experiment.goals),
            frozenset(
                goal.tracking["event_name"]
                for experiment in all_experiments
                for goal in experiment.goals
                if counts_money(goal.goal_type, goal.tracking)
            ),
            project.revenue_currency,
            _currencies_of(all_experiments, project),
        )


def _currencies_of(experiments: Iterable[Experiment], project: Project) -> dict[str, frozenset[str]]:
    """Map revenue goals of tests that have not ended, and their events, to currencies that they count."""
    found: dict[str, frozenset[str]] = {}
    for experiment in experiments:
        for goal in experiment.goals if experiment.completed_at is None else ():
            if goal.goal_type == "revenue":
                own = goal.currency(project.revenue_currency)
                factors = minor_unit_factors(project.revenue_currency, project.exchange_rates, own)
                for name in (goal.id, goal.tracking["event_name"]):
                    found[name] = found.get(name, frozenset()) | {own, *factors}
    return found
