"""Values per visitor from a DataFrame: caps, orders and covariates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.covariates import design_matrix, index_by_visitor
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Ratio, Revenue
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments, triple_moment
from engine.stats.winsorizing import cap_of


def values_of(
    arms: Sequence[pl.DataFrame], goals: Mapping[str, FrameGoal], plain: Moments
) -> VisitorValues | None:
    """Take the moments of values per visitor, one frame per variant.

    None where counts and revenue tell all: without covariates, orders, caps, and goals of other values.

    Each frame has `done_i` and `sum_i` of goal i, and where columns give them `before_i` (null where
    unknown), or `before_i_k` of several covariates, and `orders_i`.
    `plain` are the moments of the plain values, goals by variants.
    """
    if all((goal.is_share or isinstance(goal, Revenue)) and not goal.is_adjusted for goal in goals.values()):
        return None
    return VisitorValues.concatenate(
        [
            _values_of_goal(arms, place, goal, VisitorValues.of(plain[place : place + 1]))
            if goal.is_adjusted or isinstance(goal, Ratio)
            else VisitorValues.of(plain[place : place + 1])
            for place, goal in enumerate(goals.values())
        ]
    )


def _values_of_goal(
    arms: Sequence[pl.DataFrame], place: int, goal: FrameGoal, found: VisitorValues
) -> VisitorValues:
    column = f"done_{place}" if goal.is_share else f"sum_{place}"
    if goal.known is not None:
        arms = [arm.filter(pl.col(f"known_{place}") == 1) for arm in arms]
    elif goal.may_be_unknown:
        arms = [arm.filter(pl.col(f"sum_{place}").is_not_null()) for arm in arms]
    amounts = _numbers(arms, column)
    cap = None if goal.percentile is None else cap_of(np.concatenate(amounts), goal.percentile)
    values = amounts
    if cap is not None:
        values = [np.minimum(amount, cap) for amount in amounts]
        found = replace(
            found,
            value=Moments.stack([Moments.of(value) for value in values])[None],
            caps=np.array([cap]),
            capped=np.array([[(amount > cap).sum() for amount in amounts]], np.int64),
        )
    past, orders = _numbers(arms, f"before_{place}"), _numbers(arms, f"orders_{place}")
    if orders:
        found = replace(
            found,
            orders=_pairs(orders, values),
            nonzero=np.array([[np.count_nonzero(value) for value in values]], np.float64),
            largest_orders=np.array([[order.max(initial=0.0) for order in orders]]),
        )
    if several := design_matrix(arms, place):
        past, slopes = index_by_visitor(several, values, orders)
        found = replace(found, index_slopes=np.array([float(slopes)]))
    elif orders:
        past = _filled(past)
    known = [~np.isnan(one) for one in past]
    if not any(one.any() for one in known):
        return found
    if all(one.all() for one in known):
        found = replace(found, before=_pairs(past, values))
        if not orders:
            return found
        triple = [triple_moment(*each) for each in zip(past, values, orders, strict=True)]
        return replace(found, before_orders=_pairs(past, orders), triple=np.array([triple]))
    unknown = [~one for one in known]
    return replace(
        found,
        before=_pairs(_where(past, known), _where(values, known)),
        without_before=Moments.stack([Moments.of(one) for one in _where(values, unknown)])[None],
    )


def _numbers(arms: Sequence[pl.DataFrame], column: str) -> list[FloatArray]:
    """Take a column of each variant, NaN where null; empty without the column."""
    if column not in arms[0].columns:
        return []
    return [arm[column].cast(pl.Float64).to_numpy() for arm in arms]


def _where(values: Sequence[FloatArray], chosen: Sequence[np.ndarray]) -> list[FloatArray]:
    return [value[there] for value, there in zip(values, chosen, strict=True)]


def _pairs(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> PairedMoments:
    return PairedMoments.stack([PairedMoments.of(x, y) for x, y in zip(first, second, strict=True)])[None]


def _filled(past: Sequence[FloatArray]) -> list[FloatArray]:
    """Fill unknown covariates with the average, which adjusts nothing."""
    known = [one[~np.isnan(one)] for one in past]
    if not any(one.size for one in known):
        return []
    average = np.concatenate(known).mean()
    return [np.where(np.isnan(one), average, one) for one in past]
