"""Visitor rows: first exposure, conversions and revenue of each visitor of an experiment."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from engine.local_days import local_days
from engine.measures.sums import SUMS, Column
from pipeline.rollup.counting_rules import (
    FLAGGED_AS_BOT,
    IDENTITY_CONFLICT,
    SEVERAL_VARIANTS,
    CountingRules,
)
from pipeline.rollup.goals.bucketed_values import count_in_buckets
from pipeline.rollup.goals.visitor_events import (
    BUCKETED,
    SUMMED_COLUMNS,
    VISITOR,
    events_of_exposed,
    has_values,
    keys_of,
)
from pipeline.rollup.visitor_units import UNITS_OF_EXPOSURES
from pipeline.store.warehouse.visitors import UNIT_KEY, column_of

_ROW_BITS = 40
_TIMES = ("at", "day")
_PLAIN_COLUMNS = (*_TIMES, "cents")
_KEYS = keys_of(pl.col("place"))
# What adds up by day, by its number in SUMMED_COLUMNS.
_SUMMED = {
    SUMMED_COLUMNS.index(one.columns[0][0]): one.name for one in SUMS.values() if len(one.columns) == 1
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Conversions and revenue of visitors by goal.

    `firsts`: one row per visitor, by its `row`, `goal` and `number` in SUMMED_COLUMNS: time of the first
    conversion (`at`, in microseconds; null where only refunds count) and its local `day`, the `cents` or
    amounts and the number of all `orders`, the SENDER_BITS of their `money_senders`, and the outcome `before`
    the first exposure (1 or 0; cents or amounts). A ratio's conversions are its denominator's. The steps that
    a visitor reached of a funnel are the `orders` of that number.
    `orders`: one row per experiment, visitor, goal, `sum` and local `day` of orders on other days than that
    of the first conversion, `from_day` (null where only refunds count), with their `cents` or amounts; and
    one per `bucket` of the values of a quantile, without days, with their number in `cents`.
    """

    firsts: pl.DataFrame
    orders: pl.DataFrame


def find_first_exposures(exposures: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """Build one row per experiment and visitor: the variant, and the segments at the first exposure.

    First is the earliest exposure; of simultaneous ones, the first received. `variant` is SEVERAL_VARIANTS
    for a visitor with exposures to more than one, FLAGGED_AS_BOT for one with flagged exposures only, and
    IDENTITY_CONFLICT for one with several variants, but one only on each of its devices (`device_key`, where
    visitors are joined). Rows are in order of experiments. With a `unit_key` of exposures they have
    UNITS_OF_EXPOSURES.
    """
    in_order = exposures if exposures["seq"].is_sorted() else exposures.sort("seq")
    numbered = in_order.with_row_index("row")
    has_units = UNIT_KEY in exposures.columns
    # Equal times keep the order of arrival, and a flagged exposure comes after all others.
    order = pl.col("is_bot").cast(pl.Int128) * 2**62 + pl.col("occurred_at")
    unflagged = pl.when(~pl.col("is_bot"))
    firsts = (
        numbered.lazy()
        .select(
            *VISITOR,
            (order * 2**_ROW_BITS + pl.col("row")).alias("order"),
            unflagged.then("variant").alias("variant"),
            unflagged.then("occurred_at").alias("exposed_at"),
            *([unflagged.then(UNIT_KEY).alias(UNIT_KEY)] if has_units else []),
        )
        .group_by(VISITOR)
        .agg(
            (pl.col("order").min() % 2**_ROW_BITS).cast(pl.UInt32).alias("row"),
            pl.col("variant").min().alias("lowest"),
            pl.col("variant").max().alias("highest"),
            pl.col("exposed_at").max().alias("last_exposed_at"),
            *(UNITS_OF_EXPOSURES if has_units else ()),
        )
        .sort("experiment")
        .collect(engine="streaming")
    )
    rows = numbered.drop("variant", "is_bot", "row", "device_key", UNIT_KEY, strict=False)[firsts["row"]]
    days = local_days(rows["occurred_at"].to_numpy(), timezone)
    return rows.rename({"occurred_at": "first_exposed_at"}).with_columns(
        _mark_conflicts(firsts.with_columns(_variant_of()), exposures)["variant"],
        firsts["last_exposed_at"],
        *firsts.select(pl.col("^.*_unit$")),
        pl.Series("first_day", days),
    )


def sum_outcomes(
    hits: pl.DataFrame,
    exposed: pl.DataFrame,
    goals: pl.DataFrame,
    repeated_orders: pl.DataFrame,
    rules: CountingRules,
) -> Outcomes:
    """Sum up the events of the visitors in `exposed`, since their first exposure and before it.

    `goals` has the rows of `goal_rows` for each `match` of `hits`; `repeated_orders` (`rule`, `seq`) do not
    count.
    """
    events = events_of_exposed(hits, exposed, goals, repeated_orders, rules.factors)
    values = events.clear()
    if has_values(goals):
        is_value = (pl.col("place") % len(SUMMED_COLUMNS)) >= SUMMED_COLUMNS.index(BUCKETED[0])
        values, events = events.filter(is_value), events.filter(~is_value)
    before = pl.col("before")
    firsts = (
        events.lazy()
        .group_by("place")
        .agg(
            pl.col("at").min(),
            pl.col("cents").sum(),
            pl.col("at").count().cast(pl.Int64).alias("orders"),
            pl.col("money_senders").bitwise_or(),
            # A conversion in the pre-period counts once; only revenue adds up.
            pl.when(pl.col("is_revenue").any()).then(before.sum()).otherwise(before.max()).alias("before"),
        )
        .collect(engine="streaming")
    )
    firsts = _with_day(firsts, rules.timezone)
    return Outcomes(
        firsts=firsts.with_columns(*_KEYS).drop("place"),
        orders=pl.concat(
            [_sum_other_days(events, firsts, exposed, rules.timezone), _count_values(values, exposed)],
            how="diagonal",
        ),
    )


def _count_values(values: pl.DataFrame, exposed: pl.DataFrame) -> pl.DataFrame:
    """Count the values of quantiles in buckets."""
    keyed = values.with_columns(*_KEYS)
    of_column = (keyed.filter(pl.col("number") == SUMMED_COLUMNS.index(name)) for name in BUCKETED)
    counted = count_in_buckets(*of_column)
    return exposed.select(VISITOR)[counted["row"]].hstack(counted.drop("row"))


def _sum_other_days(
    events: pl.DataFrame, firsts: pl.DataFrame, exposed: pl.DataFrame, timezone: str
) -> pl.DataFrame:
    """Sum up the orders on other days than that of the first conversion."""
    paid = events.filter(pl.col("cents") != 0)
    dated = paid.with_columns(pl.Series("day", local_days(paid["occurred_at"].to_numpy(), timezone)))
    orders = (
        dated.lazy()
        .join(firsts.lazy().select("place", pl.col("day").alias("from_day")), on="place")
        .filter(pl.col("day").ne_missing(pl.col("from_day")))
        .group_by("place", "day", "from_day")
        .agg(pl.col("cents").sum())
        .with_columns(*_KEYS)
        .with_columns(pl.col("number").replace_strict(_SUMMED, return_dtype=pl.String).alias("sum"))
        .collect(engine="streaming")
    )
    columns = orders.select("goal", "sum", "day", "from_day", "cents")
    return exposed.select(VISITOR)[orders["row"]].hstack(columns)


def join_outcomes(
    exposed: pl.DataFrame, firsts: pl.DataFrame, goals: int, extra_columns: Collection[str]
) -> pl.DataFrame:
    """Add the columns `g{i}_at`, `g{i}_day` and `g{i}_cents` of each goal i to rows of visitors.

    Visitors without a conversion have nulls for the times, and 0 cents. The `extra_columns` follow, and the
    `money_senders` of all goals. The pre-period of a goal with amounts is that of its amounts.
    """
    columns: list[pl.Series] = []
    extra: list[pl.Series] = []
    senders = np.zeros(exposed.height, np.uint8)
    for goal in range(goals):
        own = _of_goal(firsts, goal, "cents")
        rows = own["row"]
        # A visitor has one row a goal, so that each place is written once.
        senders[rows.to_numpy()] |= own["money_senders"].to_numpy()
        for name in ("at", "day", "cents", "orders", "before"):
            column = f"g{goal}_{name}"
            default = None if name in _TIMES else 0
            if name in _PLAIN_COLUMNS or column in extra_columns:
                empty = pl.Series(column, [default], own.schema[name]).new_from_index(0, exposed.height)
                (columns if name in _PLAIN_COLUMNS else extra).append(empty.scatter(rows, own[name]))
    found = _set_amounts(exposed.hstack([*columns, *extra]), firsts, goals, extra_columns)
    return found.with_columns(pl.Series("money_senders", senders))


def _set_amounts(
    visitors: pl.DataFrame, firsts: pl.DataFrame, goals: int, names: Collection[str]
) -> pl.DataFrame:
    """Add the columns of amounts and steps among `names`; the pre-period of amounts becomes the goal's."""
    columns: list[pl.Series] = []
    for column, goal in product(SUMMED_COLUMNS[1:], range(goals)):
        name, before = column_of(goal, column), f"g{goal}_before"
        if name not in names:
            continue
        own = _of_goal(firsts, goal, column)
        added = own["orders" if column == "steps" else "cents"]
        columns.append(pl.zeros(visitors.height, pl.Int64, eager=True).alias(name).scatter(own["row"], added))
        if column == "amount" and before in visitors.columns:
            columns.append(visitors[before].scatter(own["row"], own["before"]))
    return visitors.with_columns(columns)


def _of_goal(firsts: pl.DataFrame, goal: int, column: Column) -> pl.DataFrame:
    return firsts.filter((pl.col("goal") == goal) & (pl.col("number") == SUMMED_COLUMNS.index(column)))


def _variant_of() -> pl.Expr:
    return (
        pl.when(pl.col("lowest").is_null())
        .then(pl.lit(FLAGGED_AS_BOT, pl.UInt8))
        .when(pl.col("lowest") < pl.col("highest"))
        .then(pl.lit(SEVERAL_VARIANTS, pl.UInt8))
        .otherwise("lowest")
        .alias("variant")
    )


def _mark_conflicts(firsts: pl.DataFrame, exposures: pl.DataFrame) -> pl.DataFrame:
    """Mark visitors who saw several variants, but on no device more than one."""
    several = firsts.filter(pl.col("variant") == SEVERAL_VARIANTS).select(VISITOR)
    if "device_key" not in exposures.columns or several.is_empty():
        return firsts
    of_devices = (
        exposures.filter(~pl.col("is_bot"))
        .join(several, on=VISITOR, how="semi")
        .group_by(*VISITOR, "device_key")
        .agg((pl.col("variant").min() < pl.col("variant").max()).alias("is_several"))
    )
    conflicts = of_devices.group_by(VISITOR).agg(pl.col("is_several").any()).filter(~pl.col("is_several"))
    marked = firsts.join(conflicts, on=VISITOR, how="left", maintain_order="left")
    is_conflict = pl.col("is_several").is_not_null()
    variant = pl.when(is_conflict).then(pl.lit(IDENTITY_CONFLICT, pl.UInt8)).otherwise("variant")
    return marked.with_columns(variant.alias("variant"))


def _with_day(firsts: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """Add the local day of each `at`, null where that is null."""
    moments = firsts["at"].fill_null(firsts["at"].max() or 0)
    days = pl.Series("day", local_days(moments.to_numpy(), timezone))
    return firsts.with_columns(pl.when(pl.col("at").is_not_null()).then(days).alias("day"))
