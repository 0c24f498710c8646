"""What a DataFrame tells of each visitor beyond counts: amounts cut, orders, and what was done before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from engine.analysis.comoments import PairedMoments
from engine.analysis.moments import Moments
from engine.analysis.visitor_values import VisitorValues
from engine.analysis.winsorizing import cap_of
from engine.frame_rows import GoalKind, ValueColumns


def values_of(
    visitors: pl.DataFrame, kinds: Mapping[str, GoalKind], columns: ValueColumns, variants: int
) -> VisitorValues | None:
    """Take the moments of one row a visitor; None where no more than counts and revenue is asked for.

    `visitors` has `variant`, and of goal i `done_i`, `sum_i`, `before_i` (null where nothing is known) and
    `orders_i`.
    """
    if not columns.goals:
        return None
    return VisitorValues.below_each_other(
        [
            _values_of_goal(visitors, _Goal(number, kind, columns.caps.get(name)), variants)
            for number, (name, kind) in enumerate(kinds.items())
        ]
    )


@dataclass(frozen=True, slots=True)
class _Goal:
    number: int
    kind: GoalKind
    percentile: float | None


def _values_of_goal(visitors: pl.DataFrame, goal: _Goal, variants: int) -> VisitorValues:
    arms = visitors["variant"].to_numpy()
    column = f"sum_{goal.number}" if goal.kind == "revenue" else f"done_{goal.number}"
    amounts = visitors[column].cast(pl.Float64).to_numpy()
    cap = None if goal.percentile is None else cap_of(amounts, goal.percentile)
    value = amounts if cap is None else np.minimum(amounts, cap)
    moments = Moments.of_groups(value, arms, variants)[None]
    plain = VisitorValues.of(moments)
    if cap is not None:
        capped = np.bincount(arms[amounts > cap], minlength=variants)[None]
        plain = replace(plain, caps=np.array([cap]), capped=capped)
    orders, before = visitors[f"orders_{goal.number}"], visitors[f"before_{goal.number}"]
    if not orders.is_null().all():
        counts = orders.fill_null(0).cast(pl.Float64).to_numpy()
        plain = replace(plain, orders=PairedMoments.of_groups(counts, value, arms, variants)[None])
        # What nothing is known of stands where everybody is on average, which adjusts nothing.
        before = before.fill_null(strategy="mean")
    if before.is_null().all():
        return plain
    known = before.is_not_null().to_numpy()
    past, places = before.drop_nulls().cast(pl.Float64).to_numpy(), arms[known]
    plain = replace(
        plain,
        before=PairedMoments.of_groups(past, value[known], places, variants)[None],
        without_before=Moments.of_groups(value[~known], arms[~known], variants)[None],
    )
    if orders.is_null().all():
        return plain
    return replace(plain, before_orders=PairedMoments.of_groups(past, counts, places, variants)[None])
