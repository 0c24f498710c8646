"""Sums over visitors' values as the moments that an analysis takes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from engine.analysis.evidence.totals import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment, Goal
from engine.stats.moments import Moments, PairedMoments
from pipeline.store.warehouse.value_sums import AskedGoal, ValueSums


def goals_to_ask(experiment: Experiment, counted: Sequence[str]) -> list[AskedGoal]:
    """The goals that are judged on more than counts and revenue, by their places among those counted."""
    return [
        AskedGoal(
            place=counted.index(goal.id),
            is_revenue=goal.goal_type == "revenue",
            cap_percentile=goal.tracking.get("cap_percentile"),
        )
        for goal in experiment.goals
        if goal.id in counted and (experiment.statistics.uses_pre_period or _is_special(goal))
    ]


def values_of(
    experiment: Experiment,
    evidence: Evidence,
    sums: Iterable[ValueSums],
    *,
    variants: Sequence[str],
    goals: Sequence[str],
) -> VisitorValues:
    """Lay sums out over the experiment's goals and variants; `variants` and `goals` are ids by their places.

    Goals without sums have the values that the evidence tells of.
    """
    places = {one.id: place for place, one in enumerate(experiment.variants)}
    by_goal: dict[str, dict[int, ValueSums]] = {}
    for one in sums:
        if variants[one.variant] in places:
            by_goal.setdefault(goals[one.goal], {})[places[variants[one.variant]]] = one
    return VisitorValues.concatenate(
        [
            _of_goal(by_goal.get(goal.id, {}), _plain(goal, evidence, place))
            for place, goal in enumerate(experiment.goals)
        ]
    )


def _is_special(goal: Goal) -> bool:
    return goal.tracking.get("cap_percentile") is not None or goal.tracking.get("per") == "order"


def _plain(goal: Goal, evidence: Evidence, place: int) -> VisitorValues:
    if goal.goal_type == "revenue":
        return VisitorValues.of(evidence.revenue[place : place + 1])
    return VisitorValues.of(Moments.of_shares(evidence.conversions[place : place + 1], evidence.visitors))


def _of_goal(sums: dict[int, ValueSums], plain: VisitorValues) -> VisitorValues:
    """One goal, its variants by place; as `plain` where nobody was seen."""
    if not sums:
        return plain
    count = plain.value.n.shape[1]
    some = next(iter(sums.values()))
    y = _moments(sums, count, lambda one: (one.y, one.yy))
    found = replace(
        plain,
        value=y,
        caps=np.array([np.nan if some.cap is None else float(some.cap)]),
        capped=np.array([[sums[i].capped if i in sums else 0 for i in range(count)]], np.int64),
    )
    if some.has_orders:
        d = _moments(sums, count, lambda one: (one.d, one.dd))
        found = replace(found, orders=_pairs(sums, d, y, lambda one: (one.d, one.y, one.dy)))
    if some.has_past:
        z = _moments(sums, count, lambda one: (one.z, one.zz))
        found = replace(found, before=_pairs(sums, z, y, lambda one: (one.z, one.y, one.zy)))
        if some.has_orders:
            found = replace(found, before_orders=_pairs(sums, z, d, lambda one: (one.z, one.d, one.zd)))
    return found


def _moments(sums: dict[int, ValueSums], count: int, pick: Callable[[ValueSums], tuple[int, int]]) -> Moments:
    """Of whole numbers up to the last division, so that nothing cancels."""
    n, mean, m2 = (np.zeros((1, count)) for _ in range(3))
    for place, one in sums.items():
        total, squares = pick(one)
        n[0, place], mean[0, place] = one.n, total / one.n
        m2[0, place] = (one.n * squares - total * total) / one.n
    return Moments(n, mean, m2)


def _pairs(
    sums: dict[int, ValueSums], x: Moments, y: Moments, pick: Callable[[ValueSums], tuple[int, int, int]]
) -> PairedMoments:
    co = np.zeros(x.n.shape)
    for place, one in sums.items():
        first, second, products = pick(one)
        co[0, place] = (one.n * products - first * second) / one.n
    return PairedMoments(x.n, x.mean, y.mean, x.m2, y.m2, co)
