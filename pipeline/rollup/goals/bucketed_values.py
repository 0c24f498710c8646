"""Values of quantiles, counted by visitor in buckets of 1%."""

import polars as pl

from engine.currencies import MAX_MINOR_UNITS
from engine.measures.sums import BUCKET_SUMS, VALUE_UNIT
from engine.stats.value_buckets import bucket_of

_KEYS = ("row", "goal", "bucket")


def known_value() -> pl.Expr:
    """Tell whether an event has a value: a tracked one its own, a conversion money of a known currency."""
    is_given = pl.col("units").is_between(-MAX_MINOR_UNITS, MAX_MINOR_UNITS)
    has_value = pl.col("is_value") | (pl.col("units") == 0) | (pl.col("cents") != 0)
    is_of_event = (pl.col("values_of") == "event") & pl.col("is_refund")
    return (is_given & has_value & ~is_of_event).fill_null(value=False)


def count_in_buckets(of_visitors: pl.DataFrame, of_events: pl.DataFrame) -> pl.DataFrame:
    """Count values by the `row` of the visitor, the `goal` and the bucket, as rows of orders.

    Both have the `cents` of events, in units of VALUE_UNIT: a visitor has their sum, or each of them.
    """
    sums = of_visitors.group_by("row", "goal").agg(pl.col("cents").sum())
    values = pl.concat([sums, of_events.select(sums.columns)])
    buckets = bucket_of(values["cents"].to_numpy() / VALUE_UNIT)
    return (
        values.with_columns(pl.Series("bucket", buckets, pl.Int32))
        .group_by(_KEYS)
        .agg(pl.len().cast(pl.Int64).alias("cents"))
        .with_columns(
            pl.lit(BUCKET_SUMS[0]).alias("sum"),
            *(pl.lit(None, pl.Int32).alias(name) for name in ("day", "from_day")),
        )
    )
