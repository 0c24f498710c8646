"""Money that an event counts for a goal, and amounts that the goal's measure sums up, as integers."""

from collections.abc import Iterable

import polars as pl

from engine.currencies import MAX_MINOR_UNITS
from engine.design.goal import Goal
from engine.measures.sums import VALUE_UNIT, unit_of
from pipeline.store.warehouse.events import SENDER_BITS


def units_of_cent(goal: Goal, minor_units: int) -> int | None:
    """Return the units of a value that a minor unit of money is worth; None for goals without values."""
    return VALUE_UNIT // minor_units if goal.summed == "value" else None


def count_money(hits: pl.LazyFrame, factors: pl.DataFrame) -> pl.LazyFrame:
    """Select the `hits` that count for the goal beside them (see `goal_rows`), with the `cents` that do.

    Money in another currency than the goal's is converted by `factors` (see `CountingRules.factors`), and
    rounded half to even; without a factor it does not count. `cents` is the part of the event's revenue that
    the goal counts, negative for a refund. Where only servers' money counts, a browser's event with money or
    a refund is none of a revenue goal, and any other goal's without.
    """
    hits = _converted(hits, factors)
    in_currency = pl.col("currency").is_null() | (pl.col("currency") == pl.col("goal_currency"))
    is_money = ~pl.col("is_value") | pl.col("takes_value")
    has_money = pl.col("is_refund") | (is_money & (pl.col("cents") != 0).fill_null(value=False))
    is_distrusted = pl.col("trusts_servers_only") & (pl.col("sender") == SENDER_BITS["browser"]) & has_money
    cents = pl.when(in_currency & is_money & ~is_distrusted).then(pl.col("cents").abs()).fill_null(0)
    sign = pl.when("is_refund").then(-1).otherwise(1)
    is_in_bounds = in_currency & cents.is_between("min_cents", "max_cents") & ~is_distrusted
    return hits.filter(~pl.col("is_revenue") | is_in_bounds).with_columns((cents * sign).alias("cents"))


def _converted(hits: pl.LazyFrame, factors: pl.DataFrame) -> pl.LazyFrame:
    """Convert the cents of hits in other currencies, which then have that of the goal."""
    if factors.is_empty():
        return hits
    kind = hits.collect_schema()["currency"]
    rates = factors.lazy().with_columns(pl.col("currency", "goal_currency").cast(kind))
    exact = pl.col("cents") * pl.col("factor")
    is_converted = pl.col("factor").is_not_null() & (exact.abs() <= MAX_MINOR_UNITS).fill_null(value=True)
    return (
        hits.join(rates, on=["currency", "goal_currency"], how="left")
        .with_columns(
            pl.when(is_converted)
            .then(exact.round(mode="half_to_even").cast(pl.Int64))
            .otherwise("cents")
            .alias("cents"),
            pl.when(is_converted).then("goal_currency").otherwise("currency").alias("currency"),
        )
        .drop("factor")
    )


def amount_of_event() -> pl.Expr:
    """Build the amount of an event that counts for a goal of `goal_rows`.

    A count takes 1, or 0 for a refund. A value takes what a tracked event has in units of VALUE_UNIT
    (`units`, before `count_money`), and the money of a conversion; a refund subtracts. A value beyond
    MAX_MINOR_UNITS is 0.
    """
    given = pl.when("is_value").then("units").otherwise(pl.col("cents") * pl.col("units_of_cent"))
    value = pl.when(given.is_between(-MAX_MINOR_UNITS, MAX_MINOR_UNITS)).then(given).otherwise(0)
    is_count = pl.col("units_of_cent").is_null()
    return pl.when(is_count).then((~pl.col("is_refund")).cast(pl.Int64)).otherwise(value)


def units_of(goals: Iterable[Goal]) -> dict[str, int]:
    """Map the ids of goals with amounts to the integers that stand for an amount of 1."""
    return {goal.id: unit for goal in goals if (unit := unit_of(goal.summed)) is not None}


def units_of_denominators(goals: Iterable[Goal]) -> dict[str, int]:
    """Map the ids of ratios to the integers that stand for 1 in their denominators."""
    return {goal.id: unit for goal in goals if (unit := unit_of(goal.divided_by)) is not None}
