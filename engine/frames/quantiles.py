"""Quantiles of a column of a DataFrame, such as the median time or the 99th percentile, by variant."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.comparison.corrections import holm_levels
from engine.analysis.results.numbers import interval, number
from engine.analysis.results.variant_result import Interval
from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.goal_columns import number as numbers_of
from engine.frames.lazy.engine_queries import Table, fetch, is_engine_table, without_nan
from engine.frames.lazy.lazy_columns import number_column
from engine.frames.rows import collected, table_of
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.multiple_testing import holm
from engine.stats.frequentist.quantiles import ValueCounts, compare_quantiles, has_enough_beyond

__all__ = ["QuantileResult", "analyze_frame_quantiles"]

QuantileStatus = Literal["higher", "lower", "inconclusive", "insufficient_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileResult:
    """One quantile of one variant against the control's; a number that is not defined is None.

    `value`, `control_value`, `difference` and its interval are in the column's unit, `improvement` and its
    interval are relative. `visitors` have a value in this variant. `p_value` is that of this comparison
    alone, `adjusted_p_value` (Holm) allows for all quantiles and variants, and so do `status` and the
    intervals: `higher` or `lower` than the control's, `inconclusive`, or `insufficient_data`.
    """

    variant_name: str
    share: float
    visitors: int
    value: float | None
    control_value: float | None
    difference: float | None
    difference_interval: Interval | None
    improvement: float | None
    improvement_interval: Interval | None
    p_value: float | None
    adjusted_p_value: float | None
    status: QuantileStatus


def analyze_frame_quantiles(  # noqa: PLR0913  # keyword arguments of a notebook function
    df: Any,  # noqa: ANN401  # any frame that narwhals supports
    column: str,
    shares: Sequence[float],
    *,
    control: object,
    variant: str = "variant",
    confidence_level: int = 95,
) -> tuple[QuantileResult, ...]:
    """Compare quantiles of `column` at `shares` (0.5 is the median) with the control's, one row per visitor.

    By the score test at the pooled quantile and by the intervals of both quantiles, which hold for counts,
    whole seconds and other equal values, too: a difference is reported where both find it
    (`quantiles.compare_quantiles`), with Holm's correction for all quantiles and variants. Each needs 10
    visitors beyond the quantile in the smaller arm. Visitors without a value are left out: where a variant
    changes which visitors have one, the compared groups differ. A lazy table is counted by its own engine.
    Raises InvalidEvidenceError for a missing or non-numeric column, shares that are not between 0 and 1, and
    a control that is no variant.
    """
    wanted = np.asarray(shares, np.float64)
    if wanted.ndim != 1 or not wanted.size or not ((wanted > 0) & (wanted < 1)).all():
        raise InvalidEvidenceError("shares of quantiles are a list of shares between 0 and 1: [0.5, 0.9]")
    arms = _count_values(df, column, variant)
    of_control = arms.pop(str(control), None)
    if of_control is None:
        raise InvalidEvidenceError(f"the control {control!r} is none of the variants with a value")
    return tuple(_results(of_control, arms, wanted, (100 - confidence_level) / 100))


def _count_values(df: Any, column: str, variant: str) -> dict[str, ValueCounts]:  # noqa: ANN401  # any frame
    """Count the values of each variant, in the order of their names."""
    table = table_of(df)
    counted = _lazy_counts(table, column, variant) if is_engine_table(table) else _counts(df, column, variant)
    # A variant of another type than text may have several spellings in an engine.
    by_value = counted.group_by("variant", "value").agg(pl.col("visitors").sum()).sort("variant", "value")
    return {
        str(name): ValueCounts(rows["value"].to_numpy(), rows["visitors"].cast(pl.Float64).to_numpy())
        for (name,), rows in by_value.group_by("variant", maintain_order=True)
    }


def _counts(df: Any, column: str, variant: str) -> pl.DataFrame:  # noqa: ANN401  # any frame
    frame = collected(df, list(dict.fromkeys([variant, column])))
    return (
        frame.select(
            pl.col(variant).cast(pl.String).alias("variant"), numbers_of(frame, column).alias("value")
        )
        .drop_nulls()
        .group_by("variant", "value")
        .agg(pl.len().alias("visitors"))
    )


def _lazy_counts(table: Table, column: str, variant: str) -> pl.DataFrame:
    """Count by the table's engine, so that equal values of a variant are one row."""
    schema = table.collect_schema()
    for name in (variant, column):
        column_errors.require_column(name, schema.names())
    values = number_column(schema, column, "value")
    counted = fetch(
        without_nan(table, [column])
        .select(nw.col(variant).alias("variant"), values.values.alias("value"))
        .drop_nulls()
        .group_by("variant", "value")
        .agg(nw.len().alias("visitors"))
    )
    totals = counted.select(pl.col("value").abs().max()).item()
    if totals is not None and totals > column_errors.MOST_NUMBER:
        raise (
            column_errors.infinite_numbers(column)
            if math.isinf(totals)
            else column_errors.numbers_too_large(column)
        )
    return counted.with_columns(pl.col("variant").cast(pl.String))


def _results(
    control: ValueCounts, arms: Mapping[str, ValueCounts], shares: FloatArray, alpha: float
) -> Iterator[QuantileResult]:
    """Compare every variant at every share, as one family."""
    if not arms:
        return
    enough = np.stack([has_enough_beyond(min(control.n, arm.n), shares) for arm in arms.values()])
    plain = np.stack([compare_quantiles(control, arm, shares, alpha).log_p for arm in arms.values()])
    log_p = np.where(enough, plain, np.nan)
    adjusted = holm(log_p.ravel()).reshape(log_p.shape)
    levels = holm_levels(log_p.ravel(), alpha).reshape(log_p.shape)
    base = control.quantiles(shares)
    for row, (name, arm) in enumerate(arms.items()):
        found, value = compare_quantiles(control, arm, shares, levels[row]), arm.quantiles(shares)
        change = value / np.where(base > 0, base, np.nan) - 1.0
        for place, share in enumerate(shares.tolist()):
            level = 1.0 - float(levels[row, place])
            is_found = adjusted[row, place] <= np.log(alpha)
            direction: QuantileStatus = "higher" if found.z[place] > 0 else "lower"
            status = direction if is_found else "inconclusive" if enough[row, place] else "insufficient_data"
            yield QuantileResult(
                variant_name=name,
                share=share,
                visitors=int(arm.n),
                value=number(value[place]),
                control_value=number(base[place]),
                difference=number(value[place] - base[place]),
                difference_interval=interval(found.low[place], found.high[place], level),
                improvement=number(change[place]),
                improvement_interval=interval(found.lift_low[place], found.lift_high[place], level),
                p_value=_p_value(log_p[row, place]),
                adjusted_p_value=_p_value(adjusted[row, place]),
                status=status,
            )


def _p_value(log_p: float) -> float | None:
    return None if math.isnan(log_p) else math.exp(log_p)
