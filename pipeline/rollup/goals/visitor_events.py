"""Events that count for a visitor and a goal, with what each adds to the outcome."""

from typing import Final

import polars as pl

from engine.measures.sums import Column
from engine.vocabulary import QuantileOf, words
from pipeline.rollup.counting_rules import LEFT_OUT
from pipeline.rollup.goals.bucketed_values import known_value
from pipeline.rollup.goals.distinct_values import is_first_of_value
from pipeline.rollup.goals.funnel_steps import split_in_order
from pipeline.rollup.goals.goal_money import amount_of_event, count_money

VISITOR: Final = ("experiment", "visitor_key")
# Goals of an experiment are fewer.
GOALS: Final = 64
# What is added up of the events of a visitor and a goal, by number: money, or an amount, or steps reached; or
# counted in buckets, of the visitor or of each event.
SUMMED_COLUMNS: Final[tuple[Column, ...]] = (
    *("cents", "amount", "denominator", "steps"),
    *("values", "event_values"),
)
BUCKETED: Final = SUMMED_COLUMNS[-2:]


def events_of_exposed(
    hits: pl.DataFrame,
    exposed: pl.DataFrame,
    goals: pl.DataFrame,
    repeated_orders: pl.DataFrame,
    factors: pl.DataFrame,
) -> pl.DataFrame:
    """List the events that count for a visitor and a goal, with what each adds to the outcome.

    `factors` are those of `count_money`. `place` is one number for the visitor, the goal and the column of
    SUMMED_COLUMNS, as grouping by one column takes half the time.
    """
    visitors = (
        exposed.lazy()
        .with_row_index("row")
        .filter(pl.col("variant") < min(LEFT_OUT))
        .select("row", *VISITOR, "first_exposed_at")
    )
    since = pl.col("occurred_at") - pl.col("first_exposed_at")
    is_before = since < 0
    in_time = count_money(
        hits.lazy()
        .join(visitors, on="visitor_key")
        .join(goals.lazy(), on=["match", "experiment"])
        .filter(since.is_between("from_us", "window_us") | since.is_between(-pl.col("before_us"), -1))
        .with_columns(pl.col("cents").alias("units")),
        factors,
    ).join(repeated_orders.lazy(), on=["rule", "seq"], how="anti")
    last_step = goals["last_step"].max()
    steps: list[pl.LazyFrame] = []
    if isinstance(last_step, int):
        in_time, reached = split_in_order(in_time, last_step)
        steps = [_steps(reached)]
    is_counted = ~is_before & ~pl.col("is_denominator")
    events = in_time.select(
        _place("cents"),
        *("occurred_at", "is_revenue"),
        pl.when(is_counted).then("cents").otherwise(0).alias("cents"),
        pl.when(is_counted & (pl.col("cents") != 0)).then("sender").otherwise(0).alias("money_senders"),
        _converted_at(is_before),
        pl.when(is_before).then(_pre_period_value()).otherwise(0).alias("before"),
    )
    events = pl.concat([events, *steps])
    if goals["has_amounts"].any():
        amount = amount_of_event()
        numerator = pl.when(~pl.col("is_denominator")).then(amount).otherwise(0)
        plain = in_time.filter("has_amounts")
        if goals["field"].is_not_null().any():
            has_field = pl.col("field").is_not_null()
            is_new = is_first_of_value(is_before).cast(pl.Int64)
            events = pl.concat([events, _amounts(plain.filter(has_field), "amount", is_new, is_before)])
            plain = plain.filter(~has_field)
        events = pl.concat([events, _amounts(plain, "amount", numerator, is_before)])
        if goals["is_denominator"].any():
            denominators = in_time.filter("is_denominator")
            events = pl.concat([events, _amounts(denominators, "denominator", amount, is_before)])
        if has_values(goals):
            is_counted = ~is_before & known_value()
            for column, values_of in zip(BUCKETED, words(QuantileOf), strict=True):
                valued = in_time.filter(is_counted & (pl.col("values_of") == values_of))
                events = pl.concat([events, _amounts(valued, column, amount, is_before)])
    return events.collect(engine="streaming")


def has_values(goals: pl.DataFrame) -> bool:
    """Tell whether values of some goal are counted in buckets."""
    return goals["values_of"].is_not_null().any()


def _amounts(in_time: pl.LazyFrame, column: Column, amount: pl.Expr, is_before: pl.Expr) -> pl.LazyFrame:
    """List an `amount` of each event, which adds up in the pre-period, too, like revenue."""
    return in_time.select(
        _place(column),
        "occurred_at",
        pl.lit(value=True).alias("is_revenue"),
        pl.when(~is_before).then(amount).otherwise(0).alias("cents"),
        pl.lit(0, pl.UInt8).alias("money_senders"),
        _converted_at(is_before),
        pl.when(is_before).then(amount).otherwise(0).alias("before"),
    )


def _steps(reached: pl.LazyFrame) -> pl.LazyFrame:
    """List the steps that visitors reached as conversions without money."""
    return reached.select(
        _place("steps"),
        "occurred_at",
        pl.lit(value=False).alias("is_revenue"),
        pl.lit(0, pl.Int64).alias("cents"),
        pl.lit(0, pl.UInt8).alias("money_senders"),
        pl.col("occurred_at").alias("at"),
        pl.lit(0, pl.Int64).alias("before"),
    )


def _place(column: Column) -> pl.Expr:
    """Number the visitor and the goal of an event, and what is added up of it; see `keys_of`."""
    visitor_and_goal = pl.col("row").cast(pl.UInt64) * GOALS + pl.col("goal")
    return (visitor_and_goal * len(SUMMED_COLUMNS) + SUMMED_COLUMNS.index(column)).alias("place")


def keys_of(place: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Take a place apart: the `row` of the visitor, the `goal`, and the `number` in SUMMED_COLUMNS."""
    return (
        (place // (GOALS * len(SUMMED_COLUMNS))).cast(pl.UInt32).alias("row"),
        (place // len(SUMMED_COLUMNS) % GOALS).cast(pl.UInt8).alias("goal"),
        (place % len(SUMMED_COLUMNS)).cast(pl.UInt8).alias("number"),
    )


def _converted_at(is_before: pl.Expr) -> pl.Expr:
    """Take the time of an event that is a conversion; events of a numerator are none."""
    is_conversion = ~is_before & ~pl.col("is_refund") & ~pl.col("has_denominator")
    return pl.when(is_conversion).then("occurred_at").alias("at")


def _pre_period_value() -> pl.Expr:
    """Value of an event before the first exposure: cents for revenue, otherwise 1, or 0 for a refund."""
    return pl.when("is_revenue").then("cents").otherwise((~pl.col("is_refund")).cast(pl.Int64))
