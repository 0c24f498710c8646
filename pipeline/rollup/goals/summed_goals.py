"""Goals whose visitors' values results sum up, and the covariates that are attributes of visitors."""

from collections.abc import Sequence

from engine.design.analysis_settings import PRE_PERIOD
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from pipeline.store.warehouse.extremes import KeptGoals
from pipeline.store.warehouse.value_sums import SummedGoal


def goals_needing_values(experiment: Experiment, counted: Sequence[str]) -> list[SummedGoal]:
    """List the goals whose analysis needs more than counts and revenue, by position among those counted."""
    is_adjusted = experiment.statistics.cuped or experiment.statistics.uses_pre_period
    return [
        _summed(goal, counted)
        for goal in _adjustable(experiment, counted)
        if is_adjusted or _needs_values(goal)
    ]


def ratio_goals(experiment: Experiment, counted: Sequence[str]) -> list[SummedGoal]:
    """List the goals that are ratios, revenue per order among them, by position among those counted."""
    return [
        _summed(goal, counted) for goal in experiment.goals if goal.id in counted and goal.measure.is_ratio
    ]


def goals_with_values(experiment: Experiment, counted: Sequence[str]) -> list[SummedGoal]:
    """List the goals that are means, by position among those counted."""
    return [
        _summed(goal, counted)
        for goal in experiment.goals
        if goal.id in counted and goal.unit != "share" and not goal.measure.is_quantile
    ]


def kept_goals(experiment: Experiment, counted: Sequence[str], *, variants: int) -> KeptGoals:
    """Describe the goals whose extremes are kept, by position among those counted."""
    places = {goal.id: counted.index(goal.id) for goal in experiment.goals if goal.id in counted}
    known = [goal for goal in experiment.goals if goal.id in places]
    return KeptGoals(
        variants=variants,
        means=goals_with_values(experiment, counted),
        money=money_goals(experiment, counted),
        late=frozenset(places[goal.id] for goal in known if goal.known_after is not None),
        funnels=[places[goal.id] for goal in known if "steps" in goal.measure.columns],
    )


def money_goals(experiment: Experiment, counted: Sequence[str]) -> frozenset[int]:
    """Return the goals that are judged on money, by position among those counted."""
    return frozenset(
        counted.index(goal.id) for goal in experiment.goals if goal.unit == "cents" and goal.id in counted
    )


def all_goals(experiment: Experiment, counted: Sequence[str]) -> list[SummedGoal]:
    """List every goal, by position among those counted."""
    return [_summed(goal, counted) for goal in experiment.goals if goal.id in counted]


def goals_with_past(experiment: Experiment, counted: Sequence[str]) -> list[SummedGoal]:
    """List the goals that CUPED adjusts by their own values before, by position among those counted."""
    if PRE_PERIOD not in experiment.statistics.covariates:
        return []
    adjusted = adjusted_goals(experiment, counted)
    return [_summed(goal, counted) for goal in experiment.goals if goal.id in adjusted]


def adjusted_goals(experiment: Experiment, counted: Sequence[str]) -> frozenset[str]:
    """Return the ids of the counted goals that CUPED adjusts; none where it is off."""
    found = _adjustable(experiment, counted) if experiment.statistics.cuped else []
    return frozenset(goal.id for goal in found)


def attributes_of(experiment: Experiment) -> list[str]:
    """List the covariates that are attributes of visitors; none where CUPED is off."""
    if not experiment.statistics.cuped:
        return []
    return [name for name in experiment.statistics.covariates if name != PRE_PERIOD]


def _adjustable(experiment: Experiment, counted: Sequence[str]) -> list[Goal]:
    """List the goals that are means of values known at once."""
    return [
        goal
        for goal in experiment.goals
        if goal.id in counted and goal.measure.is_known_at_once and not goal.measure.is_quantile
    ]


def _needs_values(goal: Goal) -> bool:
    return goal.tracking.get("cap_percentile") is not None or goal.measure.is_per_order


def _summed(goal: Goal, counted: Sequence[str]) -> SummedGoal:
    return SummedGoal(
        place=counted.index(goal.id),
        is_revenue=goal.unit == "cents",
        cap_percentile=goal.tracking.get("cap_percentile"),
        has_amounts=goal.summed is not None,
        has_denominator=goal.divided_by is not None,
    )
