"""Extremes as they are kept, in an order and form in which they can be compared."""

import polars as pl

from engine.analysis.evidence.largest_visitors import MOST
from pipeline.store.warehouse import extremes, visitors
from pipeline.store.warehouse.connection import Cursor, fetch_frame

_CELL = ["kind", "goal", "variant", "number"]


def of_table(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read everything: the first MOST of each list, and counts that are not 0."""
    table = visitors.result_table("extremes", experiment_id)
    rows = fetch_frame(cursor, f"FROM {table}")
    lists = rows.filter(pl.col("kind").is_in(extremes.LISTS)).sort("size", "key", descending=[True, False])
    first = lists.filter(pl.int_range(pl.len()).over(_CELL) < MOST)
    counts = rows.filter(~pl.col("kind").is_in(extremes.LISTS)).group_by(*_CELL, "senders")
    added = counts.agg(pl.col("size", "value").sum()).filter((pl.col("size") != 0) | (pl.col("value") != 0))
    everything = pl.concat([first.drop("is_all"), added], how="diagonal_relaxed")
    return everything.sort(pl.all())
