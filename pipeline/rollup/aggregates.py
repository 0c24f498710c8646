"""What visitors add up to by goal, variant, day and segment.

Every number is a sum of whole numbers, so cells of different visitors add up exactly, in any order, and
those of visitors who changed can be taken away again. The centred moments follow from the sums without
loss: squares are summed in 128 bits.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import polars as pl

from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from pipeline.rollup.segment_values import SegmentValues
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.visitors import CUSTOM, DIMENSIONS

CELL: Final = ("dimension", "value", "variant", "goal", "day")
# `visitors` (of no goal in particular) and the cohort's sums are by the day of first exposure; `conversions`
# by the day of a visitor's first, `cents` by the day of the order.
SUMS: Final = {
    "visitors": pl.Int64,
    "conversions": pl.Int64,
    "cents": pl.Int64,
    "cohort_conversions": pl.Int64,
    "cohort_cents": pl.Int64,
    "cohort_cents_squared": pl.Int128,
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
_PLACE: Final = ("variant", "goal", "day")


def cells_of(
    visitors: pl.DataFrame,
    orders: pl.DataFrame,
    goals: int,
    values: SegmentValues,
    dimensions: Collection[str],
) -> pl.DataFrame:
    """Sum up visitor rows, whose segments are codes of `values`, and their orders.

    Returns SCHEMA: everyone together (dimension EVERYONE), and each value of each of the `dimensions`.
    """
    plain = [name for name in DIMENSIONS if name in dimensions and values.values(name).height]
    custom = values.custom_values().filter(pl.col("dimension").is_in(list(dimensions)))
    facts = _facts(visitors, orders, goals, [*plain, *([CUSTOM] if custom.height else [])])
    parts = [_everyone(fact) for fact in facts]
    parts += [_by_value(fact, name, values.values(name)) for fact in facts for name in plain]
    if custom.height:
        parts += [_by_custom_value(fact, custom) for fact in facts]
    return add_up(pl.collect_all(parts, engine="streaming"))


def cells_since_exposure(visitors: pl.DataFrame, goal: int) -> pl.DataFrame:
    """Sum up who first converted how many days after the first exposure, that day included: SCHEMA.

    The dimension is SINCE_EXPOSURE, the value the number of local calendar days between, 0 to 27.
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
    """Add cells of different visitors; one in which nothing is left is dropped."""
    together = pl.concat([pl.DataFrame(schema=SCHEMA), *parts], how="diagonal")
    return (
        together.lazy()
        .group_by(CELL)
        .agg(pl.col(list(SUMS)).sum())
        .filter(pl.any_horizontal(pl.col(list(SUMS)) != 0))
        .collect(engine="streaming")
    )


def taken_away(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells which, added, take their visitors away."""
    # Polars has no negation of 128-bit integers.
    return cells.with_columns(pl.col(list(SUMS)) * -1)


def _facts(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, segments: Sequence[str]
) -> list[pl.LazyFrame]:
    """All there is to sum: visitors, what their cohort did, conversions by day, orders by day."""
    there = visitors.lazy().select(
        "variant",
        pl.lit(None, pl.UInt8).alias("goal"),
        pl.col("first_day").alias("day"),
        pl.lit(1, pl.Int64).alias("visitors"),
        *segments,
    )
    if goals == 0:
        return [there]
    done = pl.concat(_done(visitors.lazy(), goal, segments) for goal in range(goals))
    cohort = done.select(
        *("variant", "goal", pl.col("first_day").alias("day")),
        pl.col("converted").cast(pl.Int64).alias("cohort_conversions"),
        pl.col("cents").alias("cohort_cents"),
        (pl.col("cents").cast(pl.Int128) ** 2).alias("cohort_cents_squared"),
        *segments,
    )
    firsts = done.filter("converted").select(*_PLACE, pl.lit(1, pl.Int64).alias("conversions"), *segments)
    return [there, cohort, firsts, _paid(done, visitors, orders, segments)]


def _paid(
    done: pl.LazyFrame, visitors: pl.DataFrame, orders: pl.DataFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    """All money on the day of the first conversion, but for what moves from there to a day of its own."""
    who = visitors.lazy().select("visitor_key", "variant", *segments)
    elsewhere = orders.lazy().join(who, on="visitor_key")
    parts = [
        done.filter("converted").select(*_PLACE, "cents", *segments),
        elsewhere.select(*_PLACE, "cents", *segments),
        elsewhere.filter(pl.col("from_day").is_not_null()).select(
            "variant", "goal", pl.col("from_day").alias("day"), -pl.col("cents"), *segments
        ),
    ]
    return pl.concat(parts)


def _done(visitors: pl.LazyFrame, goal: int, segments: Sequence[str]) -> pl.LazyFrame:
    converted = pl.col(f"g{goal}_at").is_not_null()
    return visitors.filter(converted | (pl.col(f"g{goal}_cents") != 0)).select(
        *("variant", "first_day", converted.alias("converted")),
        pl.lit(goal, pl.UInt8).alias("goal"),
        pl.col(f"g{goal}_day").alias("day"),
        pl.col(f"g{goal}_cents").alias("cents"),
        *segments,
    )


def _everyone(fact: pl.LazyFrame) -> pl.LazyFrame:
    sums = [name for name in fact.collect_schema() if name in SUMS]
    everyone = pl.lit(EVERYONE)
    return (
        fact.group_by(_PLACE)
        .agg(pl.col(sums).sum())
        .with_columns(everyone.alias("dimension"), everyone.alias("value"))
    )


def _by_value(fact: pl.LazyFrame, dimension: str, values: pl.DataFrame) -> pl.LazyFrame:
    sums = [name for name in fact.collect_schema() if name in SUMS]
    return (
        fact.group_by(dimension, *_PLACE)
        .agg(pl.col(sums).sum())
        .join(values.lazy(), left_on=dimension, right_on="code")
        .drop(dimension)
        .with_columns(pl.lit(dimension).alias("dimension"))
    )


def _by_custom_value(fact: pl.LazyFrame, custom: pl.DataFrame) -> pl.LazyFrame:
    sums = [name for name in fact.collect_schema() if name in SUMS]
    return (
        fact.group_by(CUSTOM, *_PLACE)
        .agg(pl.col(sums).sum())
        .join(custom.lazy(), left_on=CUSTOM, right_on="code")
        .group_by("dimension", "value", *_PLACE)
        .agg(pl.col(sums).sum())
    )
