"""Sums by bucket of visitors' values, from which the quantiles of any visitors follow."""

from collections.abc import Sequence

import polars as pl

from engine.measures.sums import BUCKET_SUMS
from engine.stats.value_buckets import value_of

_OF_VISITOR = ("experiment", "visitor_key", "sign", "goal")


def bucket_sums(orders: pl.DataFrame, visitors: pl.LazyFrame, segments: Sequence[str]) -> pl.LazyFrame:
    """List what each visitor's values in a bucket add to BUCKET_SUMS, by the first day of the visitor.

    `orders` are rows of values; `visitors` have the `variant`, `first_day` and segments of each, and both a
    `sign`. A visitor counts once, in the bucket of its lowest values, as `cohort_conversions`.
    """
    count, sign = pl.col("cents"), pl.col("sign")
    values = value_of(orders["bucket"].to_numpy())
    placed = (
        orders.with_columns(pl.Series("order", values))
        .sort("order")
        .with_columns(
            (count.cum_sum().over(_OF_VISITOR) - count).alias("lower"),
            (count.sum().over(_OF_VISITOR) - count).alias("others"),
        )
        .lazy()
        .join(visitors, on=["experiment", "visitor_key", "sign"])
    )
    totals = (count, count * pl.col("lower"), count * pl.col("others"))
    of_number = pl.col("sum") == BUCKET_SUMS[0]
    return (
        pl.concat(
            placed.select(
                *("experiment", "variant", "first_day", "goal", "bucket", "sign", "lower", *segments),
                pl.lit(name).alias("sum"),
                (total * sign).alias("cohort_total"),
                (count**2 * sign).cast(pl.Int128).alias("cohort_squared"),
            )
            for name, total in zip(BUCKET_SUMS, totals, strict=True)
        )
        .filter(pl.col("cohort_total") != 0)
        .with_columns(
            pl.when(of_number).then("cohort_squared").otherwise(0).alias("cohort_squared"),
            pl.when(of_number & (pl.col("lower") == 0)).then(sign).otherwise(0).alias("cohort_conversions"),
        )
        .drop("sign", "lower")
    )
