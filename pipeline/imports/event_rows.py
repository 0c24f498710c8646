"""Tables of one row per event: decoded by the rules of the API, and completed to batches of the store."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import polars as pl

from pipeline.events.batch_split import MAX_EVENTS
from pipeline.events.body import EventBody
from pipeline.events.decode import (
    DecodedEvents,
    RequestContext,
    decode_conversions,
    decode_tracked,
)
from pipeline.events.hashing import visitor_keys
from pipeline.events.schema import CONVERSION, ConvertEvent, TrackEvent
from pipeline.imports.tables import BadRow, Chunk
from pipeline.store.warehouse.events import EVENT_SCHEMA, EventRow

_TRACK_FIELDS: Final = frozenset(TrackEvent.__struct_fields__)
_CONVERT_FIELDS: Final = frozenset(ConvertEvent.__struct_fields__)
# A text file has no numbers; these fields take one (a timestamp may also stay text).
_NUMBER_OF: Final[dict[str, type[int] | type[float]]] = {
    "value": float,
    "revenue_cents": int,
    "timestamp": int,
}


def read_event_rows(chunk: Chunk, context: RequestContext) -> tuple[list[EventRow], tuple[BadRow, ...]]:
    """Decode each row as an event; return the rows to store, and the rejected ones by line."""
    events: list[EventRow] = []
    bad = list(chunk.bad_rows)
    rows = chunk.rows.drop("line").iter_rows(named=True)
    lined = zip(chunk.rows["line"].to_list(), rows, strict=True)
    while batch := list(itertools.islice(lined, MAX_EVENTS)):
        for is_conversion in (False, True):
            chosen = [(line, row) for line, row in batch if (row.get("type") == CONVERSION) is is_conversion]
            decoded = _decode([row for _, row in chosen], context, is_conversion=is_conversion)
            events += decoded.rows
            bad += _rejected([line for line, _ in chosen], decoded)
    return events, tuple(sorted(bad, key=lambda row: row.line))


def _decode(rows: list[dict[str, Any]], context: RequestContext, *, is_conversion: bool) -> DecodedEvents:
    fields = _CONVERT_FIELDS if is_conversion else _TRACK_FIELDS
    events = [msgspec.Raw(msgspec.json.encode(_event_object(row, fields))) for row in rows]
    body = EventBody(events, None, None, size=sum(memoryview(event).nbytes for event in events))
    return (decode_conversions if is_conversion else decode_tracked)(body, context)


def _event_object(row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """Convert a row to the JSON object of an event: empty cells absent, other columns as attributes."""
    given = {name: value for name, value in row.items() if value is not None and value != ""}
    event = {name: _typed(name, value) for name, value in given.items() if name in fields}
    attributes = _object(event.pop("attributes", None))
    others = {name: value for name, value in given.items() if name not in _TRACK_FIELDS | _CONVERT_FIELDS}
    return {**event, "attributes": {**attributes, **others}} if attributes or others else event


def _typed(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    if not isinstance(value, str) or name not in _NUMBER_OF:
        return value
    try:
        return _NUMBER_OF[name](value)
    except ValueError:
        # Not a number: decoding rejects it with its own message.
        return value


def _object(text: object) -> dict[str, Any]:
    if isinstance(text, dict):
        return text
    try:
        value = msgspec.json.decode(text) if isinstance(text, str) else {}
    except msgspec.DecodeError:
        return {"attributes": text}
    return value if isinstance(value, dict) else {"attributes": text}


def _rejected(lines: list[int], decoded: DecodedEvents) -> Iterator[BadRow]:
    for line, result in zip(lines, decoded.results, strict=True):
        if result.status == "rejected":
            yield BadRow(line, f"{result.code}: {result.message}")


# The hash column of each id column.
KEYED_COLUMNS = {
    "event_id": "event_key",
    "visitor_id": "visitor_key",
    "user_id": "user_key",
    "transaction_id": "transaction_key",
}


def event_batch(frame: pl.DataFrame, *, received_at: int | None = None) -> pl.DataFrame:
    """Complete a frame to a batch of events.

    `frame` has at least `event_id`, `visitor_id`, `type` and `occurred_at` (epoch µs, UTC); columns of the
    events table that it lacks are null. `received_at` (epoch µs) is the time of receipt, of every event
    the time it occurred where None.
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
    return frame.select(
        pl.col(name).cast(kind) for name, kind in EVENT_SCHEMA.items() if name in frame.columns
    )


def _keys_of(texts: pl.Series) -> pl.Series:
    """Hash each text, once for each distinct one."""
    distinct = texts.drop_nulls().unique()
    keys = pl.Series(visitor_keys(distinct.to_list()), dtype=pl.UInt64)
    return texts.replace_strict(distinct, keys, return_dtype=pl.UInt64, default=None)
