"""Visitor rows and sums by day and segment of `many_events`, by hand in Polars, with the rows stored."""

from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.warehouse.lean_rollups import SEGMENTS
from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Warehouse

_ARM = ("experiment_id", "variant_id")
_VISITOR = ["experiment_id", "visitor_key"]
_DAYS = ("seen_day", "bought_day", "thanked_day")
# Days of UTC: the zone's rules would only slow the peer down.
_DAY_US = 86_400_000_000


def polars_every_sum(path: Path, warehouse: Warehouse) -> list[list[Any]]:
    """Make the rows and every sum from a Parquet file, and store the rows; return the totals."""
    events = pl.scan_parquet(path)
    once = events.filter(~pl.col("is_bot"), ~pl.col("seq").is_in(_repeats(events).implode()))
    first = _first_exposures(once)
    visitors = _with_outcomes(once, first)
    _store(visitors, warehouse)
    parts = [
        visitors.lazy()
        .filter(pl.col(day).is_not_null())
        .group_by(*_ARM, day, *dimension)
        .agg(
            pl.len().alias("visitors"),
            pl.col("bought_at").count().alias("orders"),
            pl.col("thanked_at").count().alias("thanks"),
            pl.col("cents").sum(),
            (pl.col("cents").cast(pl.Int128) ** 2).sum().alias("squares"),
        )
        for dimension in ((), *((name,) for name in SEGMENTS))
        for day in _DAYS
    ]
    by_seen_day, *_ = pl.collect_all(parts, engine="streaming")
    totals = by_seen_day.group_by(_ARM).agg(pl.exclude("seen_day").sum()).sort(_ARM)
    return [list(row) for row in totals.drop("variant_id").rows()]


def _store(visitors: pl.DataFrame, warehouse: Warehouse) -> None:
    """Write the rows to one table, segments as their numbers, as the rollup does."""
    kinds = visitors.with_columns(pl.col(pl.String).cast(pl.Categorical))
    numbers = kinds.with_columns(pl.col(pl.Categorical).to_physical())
    with warehouse.transaction() as cursor:
        rows = FrameStream(numbers)  # noqa: F841
        cursor.execute("CREATE TABLE lean_visitors AS FROM rows")


def _repeats(events: pl.LazyFrame) -> pl.Series:
    keys = events.select("event_key", "seq").collect(engine="streaming")
    in_order = keys["event_key"].sort()
    twice = in_order.filter(in_order == in_order.shift(1)).unique()
    suspects = keys.filter(pl.col("event_key").is_in(twice.implode()))
    return suspects.filter(pl.col("seq") != pl.col("seq").min().over("event_key"))["seq"]


def _first_exposures(once: pl.LazyFrame) -> pl.DataFrame:
    segments = (pl.col(name).cast(pl.Categorical) for name in SEGMENTS)
    exposures = (
        once.filter(pl.col("type") == "exposure")
        .select(*_ARM, "visitor_key", "occurred_at", *segments)
        .collect(engine="streaming")
    )
    variant = pl.col("variant_id")
    firsts = (
        exposures.lazy()
        .with_row_index("row")
        .group_by(_VISITOR)
        .agg(
            pl.col("row").min_by("occurred_at"), variant.min().alias("lowest"), variant.max().alias("highest")
        )
        .filter(pl.col("lowest") == pl.col("highest"))
        .collect(engine="streaming")
    )
    return exposures[firsts["row"]].rename({"occurred_at": "seen_at"})


def _with_outcomes(once: pl.LazyFrame, first: pl.DataFrame) -> pl.DataFrame:
    seen = first.lazy().select(*_VISITOR, "seen_at")
    since = pl.col("occurred_at") >= pl.col("seen_at")
    is_order = pl.all_horizontal(
        pl.col("type") == "conversion", pl.col("event_name") == "purchase", pl.col("currency") == "USD"
    )
    columns = ("visitor_key", "occurred_at", "seq", "revenue_cents", "transaction_key", "is_refund")
    orders = once.filter(is_order).select(columns).collect(engine="streaming")
    first_seq = pl.col("seq").min().over("transaction_key", "is_refund")
    counted = orders.filter(pl.col("is_refund") | (pl.col("seq") == first_seq)).lazy()
    cents = pl.when("is_refund").then(-pl.col("revenue_cents")).otherwise("revenue_cents")
    bought = counted.join(seen, on="visitor_key").filter(since).group_by(_VISITOR)
    is_thanks = (pl.col("type") == "pageview") & (pl.col("url") == "https://shop.example/thanks")
    thanks = once.filter(is_thanks).select("visitor_key", "occurred_at")
    thanked = thanks.join(seen, on="visitor_key").filter(since).group_by(_VISITOR)
    moment = pl.col("occurred_at")
    joined = first.lazy().join(
        bought.agg(moment.filter(~pl.col("is_refund")).min().alias("bought_at"), cents.sum().alias("cents")),
        on=_VISITOR,
        how="left",
    )
    rows = joined.join(thanked.agg(moment.min().alias("thanked_at")), on=_VISITOR, how="left")
    days = ((pl.col(day.replace("day", "at")) // _DAY_US).cast(pl.Int32).alias(day) for day in _DAYS)
    return rows.with_columns(days).collect(engine="streaming")
