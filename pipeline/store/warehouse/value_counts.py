"""Counts of visitors by their value of a goal, in the buckets of quantiles."""

from typing import Final

import polars as pl

from engine.stats.value_buckets import EXACT, ONE, WIDTH
from pipeline.store.warehouse.selected_visitors import SelectedVisitors

# As `bucket_of` numbers whole values.
_BUCKET: Final = (
    f"CASE WHEN abs({{0}}) < {EXACT} THEN {{0}} "
    f"ELSE sign({{0}}) * ({ONE} + floor(ln(abs({{0}})) / ln({WIDTH}))) END::INTEGER"
)


def read_value_counts(visitors: SelectedVisitors, column: str, *, last_day: int | None) -> pl.DataFrame:
    """Count the visitors of each `variant` by the `bucket` of a column of whole values, 0 among them.

    Of outcomes that take days, only visitors first exposed up to `last_day` count.
    """
    query = f"""
        SELECT variant, {_BUCKET.format(column)} AS bucket, count(*) AS visitors
        FROM {visitors.rows(last_day)} GROUP BY ALL ORDER BY ALL
    """
    rows = visitors.cursor.execute(query).fetchall()
    return pl.DataFrame(rows, {"variant": pl.UInt8, "bucket": pl.Int32, "visitors": pl.Int64}, orient="row")
