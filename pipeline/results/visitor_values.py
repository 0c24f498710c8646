"""Moments of visitors' values, from sums."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.measures.sums import unit_of
from engine.stats.arrays import AnyArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments, third_of_sums
from pipeline.store.warehouse.value_sums import ValueSums


def values_of(
    experiment: Experiment,
    evidence: Evidence,
    sums: Iterable[ValueSums],
    *,
    variants: Sequence[str],
    goals: Sequence[str],
) -> VisitorValues:
    """Arrange sums by goal and variant; `variants` and `goals` are the counted ids by position.

    Goals without sums have the values of the evidence.
    """
    places = {one.id: place for place, one in enumerate(experiment.variants)}
    by_goal: dict[str, dict[int, ValueSums]] = {}
    for one in sums:
        if variants[one.variant] in places:
            by_goal.setdefault(goals[one.goal], {})[places[variants[one.variant]]] = one
    return VisitorValues.concatenate(
        [
            _of_goal(
                by_goal.get(goal.id, {}),
                _plain(goal, evidence, place),
                unit=unit_of(goal.summed) or 1,
                unit_of_orders=unit_of(goal.divided_by) or 1,
            )
            for place, goal in enumerate(experiment.goals)
        ]
    )


def covariates_of(experiment: Experiment, values: VisitorValues) -> dict[int, tuple[str, ...]]:
    """Map the goals that CUPED adjusts, by place, to the names of their covariates."""
    if not experiment.statistics.cuped:
        return {}
    adjusted = np.flatnonzero(values.before.n.any(axis=-1)).tolist()
    return dict.fromkeys(adjusted, experiment.statistics.covariates)


def _plain(goal: Goal, evidence: Evidence, place: int) -> VisitorValues:
    if evidence.values is not None:
        return evidence.values[place : place + 1]
    if goal.unit == "cents":
        return VisitorValues.of(evidence.revenue[place : place + 1])
    return VisitorValues.of(
        Moments.of_shares(*(counts[place : place + 1] for counts in (evidence.conversions, evidence.trials)))
    )


def _of_goal(
    sums: dict[int, ValueSums], plain: VisitorValues, *, unit: int, unit_of_orders: int
) -> VisitorValues:
    """Arrange the sums of one goal by variant; `plain` without sums.

    `unit` stands for a value of 1, and `unit_of_orders` for 1 of the orders, or of a ratio's denominator.
    """
    if not sums:
        return plain
    some = next(iter(sums.values()))

    def column(name: str) -> AnyArray:
        """Return one of the sums by variant, 0 for variants without visitors."""
        places = range(plain.value.n.shape[1])
        values = [getattr(sums[place], name) if place in sums else 0 for place in places]
        return np.array([values], object)

    n, y, yy, yyy = column("n"), column("y"), column("yy"), column("yyy")
    found = replace(
        plain,
        value=Moments.of_sums(n, y, yy, yyy).divide(unit),
        caps=np.array([np.nan if some.cap is None else some.cap / unit]),
        capped=column("capped").astype(np.int64),
    )
    d, dd, z, zz = column("d"), column("dd"), column("z"), column("zz")
    zy, zd, dy = column("zy"), column("zd"), column("dy")
    ddd, ddy, dyy, zzz, zzy, zyy, zzd, zdd, zyd = (
        np.array([[sums[place].thirds[name] if place in sums else 0 for place in range(n.shape[1])]], object)
        for name in some.thirds
    )
    if some.has_orders:
        orders = PairedMoments.of_sums(n, x=d, y=y, xx=dd, yy=yy, xy=dy, yyy=yyy, others=(ddd, ddy, dyy))
        found = replace(found, orders=orders.divide_each(unit_of_orders, unit))
    if some.has_past:
        before = PairedMoments.of_sums(n, x=z, y=y, xx=zz, yy=yy, xy=zy, yyy=yyy, others=(zzz, zzy, zyy))
        found = replace(found, before=before.divide(unit))
        if some.has_orders:
            pairs = PairedMoments.of_sums(n, x=z, y=d, xx=zz, yy=dd, xy=zd, yyy=ddd, others=(zzz, zzd, zdd))
            triple = third_of_sums(n, (z, y, d), (dy, zd, zy), zyd) / (float(unit) ** 2 * unit_of_orders)
            found = replace(found, before_orders=pairs.divide_each(unit, unit_of_orders), triple=triple)
    return found
