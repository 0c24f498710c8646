"""Events made elsewhere, as the batches that the store takes: keys, types and missing columns filled in."""

import polars as pl
import pyarrow as pa

from pipeline.events import visitor_keys
from pipeline.store.events import EVENT_SCHEMA

# The stored key of each text column that has one.
KEYED_COLUMNS = {
    "event_id": "event_key",
    "visitor_id": "visitor_key",
    "user_id": "user_key",
    "transaction_id": "transaction_key",
}


def event_batch(frame: pl.DataFrame, *, received_at: int | None = None) -> pa.Table:
    """Complete `frame` to a batch of events.

    `frame` has at least `event_id`, `visitor_id`, `type` and `occurred_at` (epoch µs, UTC); columns of the
    events table that it lacks are null. `received_at` (epoch µs) is when the store learned of them: the
    moment each event occurred where it is None.
    """
    for text, key in KEYED_COLUMNS.items():
        if text in frame.columns:
            frame = frame.with_columns(_keys_of(frame[text]).alias(key))
    arrival = pl.col("occurred_at") if received_at is None else pl.lit(received_at)
    frame = frame.with_columns(arrival.cast(pl.Int64).alias("received_at"))
    flags = [pl.lit(False).alias(name) for name in ("is_refund", "is_bot") if name not in frame.columns]
    frame = frame.with_columns(
        *flags, *(pl.col(name).fill_null(False) for name in ("is_refund", "is_bot") if name in frame.columns)
    )
    columns = [name for name in EVENT_SCHEMA.names if name in frame.columns]
    schema = pa.schema([EVENT_SCHEMA.field(name) for name in columns])
    return frame.select(columns).to_arrow().cast(schema)


def _keys_of(texts: pl.Series) -> pl.Series:
    """The key of each text, worked out once for each that differs."""
    distinct = texts.drop_nulls().unique()
    keys = pl.Series(visitor_keys(distinct.to_list()), dtype=pl.UInt64)
    return texts.replace_strict(distinct, keys, return_dtype=pl.UInt64, default=None)
