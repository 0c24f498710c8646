"""Quantiles of a column of a DataFrame, such as the median time or the 99th percentile, by variant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from engine.analysis.results.numbers import interval, number
from engine.analysis.results.variant_result import Interval
from engine.errors import InvalidEvidenceError
from engine.frames.rows import collected
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.quantiles import estimate_quantiles
from engine.stats.frequentist.two_sample import compare_means

__all__ = ["QuantileResult", "analyze_frame_quantiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileResult:
    """One quantile of one variant against the control's; a number that is not defined is None.

    `value` and `control_value` are in the column's unit, `improvement` and its interval are relative.
    `visitors` have a value in this variant.
    """

    variant_name: str
    share: float
    visitors: int
    value: float | None
    control_value: float | None
    difference: float | None
    improvement: float | None
    improvement_interval: Interval | None
    p_value: float | None


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

    Visitors without a value are left out: where a variant changes which visitors have one, the compared
    groups differ. The estimates are those of `quantiles.estimate_quantiles`, compared by Welch's test and
    Fieller's interval. Each comparison has the confidence level by itself. Raises InvalidEvidenceError for
    a missing or non-numeric column, or a control that is no variant.
    """
    frame = collected(df, list(dict.fromkeys([variant, column])))
    if not frame.schema[column].is_numeric():
        raise InvalidEvidenceError(f"{column!r} holds {frame.schema[column]}, not numbers")
    if not all(0 < share < 1 for share in shares):
        raise InvalidEvidenceError("shares of quantiles lie between 0 and 1: 0.5 is the median")
    rows = frame.select(
        pl.col(variant).cast(pl.String).alias("variant"), pl.col(column).cast(pl.Float64).alias("value")
    ).filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    arms = sorted(set(rows["variant"].drop_nulls().to_list()) - {str(control)})
    of_control = _values(rows, str(control))
    if not of_control.size:
        raise InvalidEvidenceError(f"the control {control!r} is none of the variants with a value")
    wanted = np.asarray(shares, np.float64)
    baseline = estimate_quantiles(of_control, wanted)
    return tuple(
        result
        for arm in arms
        for result in _compared(arm, wanted, baseline, _values(rows, arm), (100 - confidence_level) / 100)
    )


def _values(rows: pl.DataFrame, arm: str) -> FloatArray:
    return rows.filter(pl.col("variant") == arm)["value"].to_numpy()


def _compared(
    arm: str, shares: FloatArray, control: Estimate, values: FloatArray, alpha: float
) -> list[QuantileResult]:
    found = estimate_quantiles(values, shares)
    test = compare_means(control, found, alpha)
    change = found.value / np.where(control.value > 0, control.value, np.nan) - 1.0
    return [
        QuantileResult(
            variant_name=arm,
            share=float(share),
            visitors=values.size,
            value=number(found.value[place]),
            control_value=number(control.value[place]),
            difference=number(found.value[place] - control.value[place]),
            improvement=number(change[place]),
            improvement_interval=interval(test.low[place], test.high[place], 1.0 - alpha),
            p_value=None if math.isnan(test.log_p[place]) else math.exp(test.log_p[place]),
        )
        for place, share in enumerate(shares)
    ]
