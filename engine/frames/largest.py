"""Largest visitors of a DataFrame, by goal and variant."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors, LargeVisitor
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile

_FIELDS = ("value", "denominator", "before")


def largest_of(
    arms: Sequence[pl.DataFrame], kinds: Sequence[FrameGoal], values: VisitorValues | None
) -> LargestVisitors:
    """Find the largest visitors of every goal that is a mean, and no quantile; `values` have the caps.

    Each frame has `sum_i` of goal i, and `orders_i` and `before_i` where columns give them.
    """
    found = LargestVisitors.none(len(kinds), len(arms))
    caps = np.full(len(kinds), np.nan) if values is None else values.caps
    for goal, kind in enumerate(kinds):
        for column, arm in enumerate(arms):
            if not (kind.is_share or isinstance(kind, Quantile)):
                rows = _rows(arm, goal, float(caps[goal]))
                found.put(
                    goal,
                    column,
                    by_value=_largest(rows, "value"),
                    by_denominator=_largest(rows, "denominator"),
                )
    return found


def _rows(arm: pl.DataFrame, goal: int, cap: float) -> pl.DataFrame:
    columns = dict(zip(_FIELDS, (f"sum_{goal}", f"orders_{goal}", f"before_{goal}"), strict=True))
    rows = arm.select(
        (pl.col(column) if column in arm.columns else pl.lit(None)).cast(pl.Float64).alias(name)
        for name, column in columns.items()
    )
    return rows if np.isnan(cap) else rows.with_columns(pl.col("value").clip(upper_bound=cap))


def _largest(rows: pl.DataFrame, name: str) -> list[LargeVisitor]:
    size = pl.when(pl.col("value").is_not_null()).then(pl.col(name).abs())
    sizes = rows.select(size).to_series()
    largest = sizes.drop_nulls().top_k(MOST)
    # A comparison with the least of them is faster than to order whole rows.
    kept = rows.filter(sizes >= largest.min()).top_k(MOST, by=size) if len(largest) else rows.clear()
    return [LargeVisitor(*row) for row in kept.sort(size, descending=True).iter_rows()]
