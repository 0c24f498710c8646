"""Sums over visitors of several experiments by goal, variant, day and segment.

Every sum is of integers, so the sums of different visitors add up exactly, in any order, and can be
subtracted again. Squares and cubes are summed in 128 bits, so the centred moments follow without loss.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.cubes import cube_parts
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS

CELL: Final = ("experiment", "dimension", "value", "variant", "goal", "day")
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
        "experiment": pl.UInt16,
        "dimension": pl.String,
        "value": pl.String,
        "variant": pl.UInt8,
        "goal": pl.UInt8,
        "day": pl.Int32,
        **SUMS,
    }
)
_KEYS: Final = ("experiment", "variant", "goal", "day")


def sum_visitors(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, codes: SegmentCodes, left_out: pl.DataFrame
) -> pl.DataFrame:
    """Sum up visitor rows of up to so many `goals`, whose segments are `codes`, and their orders.

    Each visitor counts with the factor `sign`, 1 or -1. Returns SCHEMA: all visitors (dimension EVERYONE),
    and each value of each dimension but those `left_out` (`experiment`, `dimension`).
    """
    values = {name: codes.values(name) for name in DIMENSIONS if codes.values(name).height}
    custom = codes.custom_values().join(left_out, on=["experiment", "dimension"], how="anti")
    measures = _measures(visitors, orders, goals, [*values, *([CUSTOM] if custom.height else [])])
    parts = [_sum_all(measure) for measure in measures]
    for name, known in values.items():
        without = left_out.filter(pl.col("dimension") == name)["experiment"]
        parts += [_sum_by_value(measure, name, known, without) for measure in measures]
    if custom.height:
        parts += [_sum_by_custom_value(measure, custom) for measure in measures]
    return add_up(pl.collect_all(parts, engine="streaming"))


def sum_since_exposure(visitors: pl.DataFrame, primary_goals: Sequence[int | None]) -> pl.DataFrame:
    """Count first conversions on each experiment's primary goal by days since the first exposure: SCHEMA.

    The dimension is SINCE_EXPOSURE, the value the number of local calendar days between the two, 0 to 27.
    """
    parts = [
        _since_exposure(visitors, goal, [number for number, one in enumerate(primary_goals) if one == goal])
        for goal in sorted({goal for goal in primary_goals if goal is not None})
    ]
    return add_up(pl.collect_all(parts, engine="streaming"))


def _since_exposure(visitors: pl.DataFrame, goal: int, experiments: Sequence[int]) -> pl.LazyFrame:
    days = pl.col(f"g{goal}_day") - pl.col("first_day")
    return (
        visitors.lazy()
        .filter(pl.col("experiment").is_in(experiments))
        .select("experiment", "variant", "sign", pl.col("first_day").alias("day"), days.alias("days"))
        .filter(pl.col("days") < MOST_DAYS)
        .group_by("experiment", "variant", "day", "days")
        .agg(pl.col("sign").sum().alias("cohort_conversions"))
        .with_columns(
            pl.lit(SINCE_EXPOSURE).alias("dimension"),
            pl.col("days").cast(pl.String).alias("value"),
            pl.lit(goal, pl.UInt8).alias("goal"),
        )
        .drop("days")
    )


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


def of_experiment(cells: pl.DataFrame, number: int) -> pl.DataFrame:
    """Add the number of the experiment to its stored sums."""
    return cells.with_columns(pl.lit(number, pl.UInt16).alias("experiment"))


def negate(cells: pl.DataFrame) -> pl.DataFrame:
    """Negate the sums, so that adding them subtracts their visitors."""
    # Polars has no negation of 128-bit integers.
    return cells.with_columns(pl.col(list(SUMS)) * -1)


def _measures(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, segments: Sequence[str]
) -> list[pl.LazyFrame]:
    """List the frames to sum: visitors, outcomes of their cohort, conversions by day, revenue by day."""
    exposed = visitors.lazy().select(
        *("experiment", "variant"),
        pl.lit(None, pl.UInt8).alias("goal"),
        pl.col("first_day").alias("day"),
        pl.col("sign").alias("visitors"),
        *segments,
    )
    if goals == 0:
        return [exposed]
    outcomes = pl.concat(_outcomes(visitors.lazy(), goal, segments) for goal in range(goals))
    cubed_high, cubed_low = cube_parts(pl.col("cents"))
    cohort = outcomes.select(
        *("experiment", "variant", "goal", pl.col("first_day").alias("day")),
        (pl.col("converted") * pl.col("sign")).alias("cohort_conversions"),
        (pl.col("cents") * pl.col("sign")).alias("cohort_cents"),
        (pl.col("cents").cast(pl.Int128) ** 2 * pl.col("sign")).alias("cohort_cents_squared"),
        (cubed_high * pl.col("sign")).alias("cohort_cents_cubed_high"),
        (cubed_low * pl.col("sign")).alias("cohort_cents_cubed_low"),
        *segments,
    )
    first_conversions = outcomes.filter("converted").select(
        *_KEYS, pl.col("sign").alias("conversions"), *segments
    )
    return [exposed, cohort, first_conversions, _revenue(outcomes, visitors, orders, segments)]


def _revenue(
    outcomes: pl.LazyFrame, visitors: pl.DataFrame, orders: pl.DataFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    """List revenue on the day of the first conversion, and move orders of other days to their own day."""
    variants = visitors.lazy().select("experiment", "visitor_key", "sign", "variant", *segments)
    by = ["experiment", "visitor_key", "sign"]
    other_days = orders.lazy().join(variants, on=by).with_columns(pl.col("cents") * pl.col("sign"))
    parts = [
        outcomes.filter("converted").select(*_KEYS, pl.col("cents") * pl.col("sign"), *segments),
        other_days.select(*_KEYS, "cents", *segments),
        other_days.filter(pl.col("from_day").is_not_null()).select(
            *("experiment", "variant", "goal"), pl.col("from_day").alias("day"), -pl.col("cents"), *segments
        ),
    ]
    return pl.concat(parts)


def _outcomes(visitors: pl.LazyFrame, goal: int, segments: Sequence[str]) -> pl.LazyFrame:
    converted = pl.col(f"g{goal}_at").is_not_null()
    return visitors.filter(converted | (pl.col(f"g{goal}_cents") != 0)).select(
        *("experiment", "variant", "first_day", "sign", converted.alias("converted")),
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


def _sum_by_value(
    measure: pl.LazyFrame, dimension: str, values: pl.DataFrame, without: pl.Series
) -> pl.LazyFrame:
    sums = [name for name in measure.collect_schema() if name in SUMS]
    if without.len():
        measure = measure.filter(~pl.col("experiment").is_in(without.implode()))
    return (
        measure.group_by(dimension, *_KEYS)
        .agg(pl.col(sums).sum())
        .join(values.lazy(), left_on=["experiment", dimension], right_on=["experiment", "code"])
        .drop(dimension)
        .with_columns(pl.lit(dimension).alias("dimension"))
    )


def _sum_by_custom_value(measure: pl.LazyFrame, custom: pl.DataFrame) -> pl.LazyFrame:
    sums = [name for name in measure.collect_schema() if name in SUMS]
    return (
        measure.group_by(CUSTOM, *_KEYS)
        .agg(pl.col(sums).sum())
        .join(custom.lazy(), left_on=["experiment", CUSTOM], right_on=["experiment", "code"])
        .group_by("dimension", "value", *_KEYS)
        .agg(pl.col(sums).sum())
    )
