"""Sums over visitors by goal, variant, day and segment.

Every sum is of integers, so the sums of different visitors add up exactly, in any order, and can be
subtracted again. Squares and cubes are summed in 128 bits, so the centred moments follow without loss.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import polars as pl

from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from pipeline.rollup.segment_values import SegmentValues
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.cubes import cube_parts
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS

CELL: Final = ("dimension", "value", "variant", "goal", "day")
# `visitors` (without a goal) and the cohort's sums are by the day of first exposure, `conversions` by the day
# of a visitor's first conversion, `cents` by the day of the order.
SUMS: Final = {
    "visitors": pl.Int64,
    "conversions": pl.Int64,
    "cents": pl.Int64,
    "cohort_conversions": pl.Int64,
    "cohort_cents": pl.Int64,
    "cohort_cents_squared": pl.Int128,
    "cohort_cents_cubed_high": pl.Int128,
    "cohort_cents_cubed_low": pl.Int128,
}
SCHEMA: Final = pl.Schema(
    {
        "dimension": pl.String,
        "value": pl.String,
        "variant": pl.UInt8,
        "goal": pl.UInt8,
        "day": pl.Int32,
        **SUMS,
    }
)
_KEYS: Final = ("variant", "goal", "day")


def sum_visitors(
    visitors: pl.DataFrame,
    orders: pl.DataFrame,
    goals: int,
    values: SegmentValues,
    dimensions: Collection[str],
) -> pl.DataFrame:
    """Sum up visitor rows, whose segments are codes of `values`, and their orders.

    Returns SCHEMA: all visitors (dimension EVERYONE), and each value of each of the `dimensions`.
    """
    plain = [name for name in DIMENSIONS if name in dimensions and values.values(name).height]
    custom = values.custom_values().filter(pl.col("dimension").is_in(list(dimensions)))
    measures = _measures(visitors, orders, goals, [*plain, *([CUSTOM] if custom.height else [])])
    parts = [_sum_all(measure) for measure in measures]
    parts += [_sum_by_value(measure, name, values.values(name)) for measure in measures for name in plain]
    if custom.height:
        parts += [_sum_by_custom_value(measure, custom) for measure in measures]
    return add_up(pl.collect_all(parts, engine="streaming"))


def sum_since_exposure(visitors: pl.DataFrame, goal: int) -> pl.DataFrame:
    """Count first conversions by days since the first exposure: SCHEMA.

    The dimension is SINCE_EXPOSURE, the value the number of local calendar days between the two, 0 to 27.
    """
    days = pl.col(f"g{goal}_day") - pl.col("first_day")
    cells = (
        visitors.lazy()
        .select("variant", pl.col("first_day").alias("day"), days.alias("days"))
        .filter(pl.col("days") < MOST_DAYS)
        .group_by("variant", "day", "days")
        .agg(pl.len().cast(pl.Int64).alias("cohort_conversions"))
        .with_columns(
            pl.lit(SINCE_EXPOSURE).alias("dimension"),
            pl.col("days").cast(pl.String).alias("value"),
            pl.lit(goal, pl.UInt8).alias("goal"),
        )
        .drop("days")
        .collect(engine="streaming")
    )
    return add_up([cells])


def add_up(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Add sums of different visitors; a cell whose sums are all 0 is dropped."""
    cells = pl.concat([pl.DataFrame(schema=SCHEMA), *parts], how="diagonal")
    return (
        cells.lazy()
        .group_by(CELL)
        .agg(pl.col(list(SUMS)).sum())
        .filter(pl.any_horizontal(pl.col(list(SUMS)) != 0))
        .collect(engine="streaming")
    )


def negate(cells: pl.DataFrame) -> pl.DataFrame:
    """Negate the sums, so that adding them subtracts their visitors."""
    # Polars has no negation of 128-bit integers.
    return cells.with_columns(pl.col(list(SUMS)) * -1)


def _measures(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, segments: Sequence[str]
) -> list[pl.LazyFrame]:
    """List the frames to sum: visitors, outcomes of their cohort, conversions by day, revenue by day."""
    exposed = visitors.lazy().select(
        "variant",
        pl.lit(None, pl.UInt8).alias("goal"),
        pl.col("first_day").alias("day"),
        pl.lit(1, pl.Int64).alias("visitors"),
        *segments,
    )
    if goals == 0:
        return [exposed]
    outcomes = pl.concat(_outcomes(visitors.lazy(), goal, segments) for goal in range(goals))
    cubed_high, cubed_low = cube_parts(pl.col("cents"))
    cohort = outcomes.select(
        *("variant", "goal", pl.col("first_day").alias("day")),
        pl.col("converted").cast(pl.Int64).alias("cohort_conversions"),
        pl.col("cents").alias("cohort_cents"),
        (pl.col("cents").cast(pl.Int128) ** 2).alias("cohort_cents_squared"),
        cubed_high.alias("cohort_cents_cubed_high"),
        cubed_low.alias("cohort_cents_cubed_low"),
        *segments,
    )
    first_conversions = outcomes.filter("converted").select(
        *_KEYS, pl.lit(1, pl.Int64).alias("conversions"), *segments
    )
    return [exposed, cohort, first_conversions, _revenue(outcomes, visitors, orders, segments)]


def _revenue(
    outcomes: pl.LazyFrame, visitors: pl.DataFrame, orders: pl.DataFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    """List revenue on the day of the first conversion, and move orders of other days to their own day."""
    variants = visitors.lazy().select("visitor_key", "variant", *segments)
    other_days = orders.lazy().join(variants, on="visitor_key")
    parts = [
        outcomes.filter("converted").select(*_KEYS, "cents", *segments),
        other_days.select(*_KEYS, "cents", *segments),
        other_days.filter(pl.col("from_day").is_not_null()).select(
            "variant", "goal", pl.col("from_day").alias("day"), -pl.col("cents"), *segments
        ),
    ]
    return pl.concat(parts)


def _outcomes(visitors: pl.LazyFrame, goal: int, segments: Sequence[str]) -> pl.LazyFrame:
    converted = pl.col(f"g{goal}_at").is_not_null()
    return visitors.filter(converted | (pl.col(f"g{goal}_cents") != 0)).select(
        *("variant", "first_day", converted.alias("converted")),
        pl.lit(goal, pl.UInt8).alias("goal"),
        pl.col(f"g{goal}_day").alias("day"),
        pl.col(f"g{goal}_cents").alias("cents"),
        *segments,
    )


def _sum_all(measure: pl.LazyFrame) -> pl.LazyFrame:
    sums = [name for name in measure.collect_schema() if name in SUMS]
    everyone = pl.lit(EVERYONE)
    return (
        measure.group_by(_KEYS)
        .agg(pl.col(sums).sum())
        .with_columns(everyone.alias("dimension"), everyone.alias("value"))
    )


def _sum_by_value(measure: pl.LazyFrame, dimension: str, values: pl.DataFrame) -> pl.LazyFrame:
    sums = [name for name in measure.collect_schema() if name in SUMS]
    return (
        measure.group_by(dimension, *_KEYS)
        .agg(pl.col(sums).sum())
        .join(values.lazy(), left_on=dimension, right_on="code")
        .drop(dimension)
        .with_columns(pl.lit(dimension).alias("dimension"))
    )


def _sum_by_custom_value(measure: pl.LazyFrame, custom: pl.DataFrame) -> pl.LazyFrame:
    sums = [name for name in measure.collect_schema() if name in SUMS]
    return (
        measure.group_by(CUSTOM, *_KEYS)
        .agg(pl.col(sums).sum())
        .join(custom.lazy(), left_on=CUSTOM, right_on="code")
        .group_by("dimension", "value", *_KEYS)
        .agg(pl.col(sums).sum())
    )
