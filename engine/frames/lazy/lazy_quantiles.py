"""Quantiles of a lazy table, whose engine counts the values by bucket."""

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final

import narwhals as nw
import numpy as np
import polars as pl

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Quantile
from engine.frames.lazy.engine_queries import Table, computed_once, fetch
from engine.stats.clustered_buckets import ClusteredBuckets
from engine.stats.value_buckets import EXACT, WIDTH, bucket_of

# A whole number of a bucket of its own, or the sign, and the power of other values.
_BUCKET: Final = ("whole", "power")


def quantiles_lazy(visitors: Table, kinds: Sequence[FrameGoal], arms: int) -> dict[int, QuantileEvidence]:
    """Count the visitors by value of goals that are quantiles, by the goal's place."""
    found = {}
    for goal, kind in enumerate(kinds):
        if isinstance(kind, Quantile):
            counted = value_counts(visitors, goal)
            found[goal] = QuantileEvidence.of(kind.q, buckets_of_arms(counted, arms))
    return found


def value_counts(visitors: Table, goal: int, *by: str) -> pl.DataFrame:
    """Fetch how many visitors have a `value` in each bucket, by `arm` and the columns `by`.

    An engine's logarithm may put a value at the edge of a bucket into the next: the least and the largest of
    what it takes as one tell, and the values of such a bucket are fetched one by one.
    """
    known = visitors.filter(~nw.col(f"sum_{goal}").is_null())
    keyed = computed_once(
        known.select(*by, "arm", nw.col(f"sum_{goal}").alias("value")).with_columns(*_bucket(nw.col("value")))
    )
    counted = fetch(
        keyed.group_by(*by, "arm", *_BUCKET).agg(
            nw.len().alias("visitors"),
            nw.col("value").min().alias("value"),
            nw.col("value").max().alias("largest"),
        )
    )
    buckets = (bucket_of(counted[name].cast(pl.Float64).to_numpy()) for name in ("value", "largest"))
    mixed = counted.filter(np.not_equal(*buckets)).select(_BUCKET).unique()
    columns = [*by, "arm", "value", "visitors"]
    counted = counted.join(mixed, on=_BUCKET, how="anti").select(columns)
    if mixed.is_empty():
        return counted
    is_mixed = reduce(
        or_, ((nw.col("whole") == whole) & (nw.col("power") == power) for whole, power in mixed.iter_rows())
    )
    each = keyed.filter(is_mixed).group_by(*by, "arm", "value").agg(nw.len().alias("visitors"))
    return pl.concat([counted, fetch(each).select(columns)], how="vertical_relaxed")


def _bucket(value: nw.Expr) -> Iterator[nw.Expr]:
    """Yield the columns of _BUCKET, which part values as `bucket_of` does but for rounding."""
    size = value.abs()
    is_whole = (size < float(EXACT)) & (size == size.floor())
    sign = nw.when(value < 0.0).then(nw.lit(-float(EXACT))).otherwise(nw.lit(float(EXACT)))
    positive = nw.when(size > 0.0).then(size).otherwise(nw.lit(1.0))
    power = (positive.log() / math.log(WIDTH)).floor().cast(nw.Float64)
    yield nw.when(is_whole).then(value).otherwise(sign).alias("whole")
    yield nw.when(is_whole).then(nw.lit(0.0)).otherwise(power).alias("power")


def buckets_of_arms(counted: pl.DataFrame, arms: int) -> tuple[ClusteredBuckets, ...]:
    """Put the values of `value_counts` into buckets, by variant."""
    of_arms = (counted.filter(pl.col("arm") == arm) for arm in range(arms))
    return tuple(
        ClusteredBuckets.of_counts(rows["value"].to_numpy(), rows["visitors"].cast(pl.Int64).to_numpy())
        for rows in of_arms
    )
