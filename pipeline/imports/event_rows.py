"""A table of one row per event as the events of the API, judged by the same rules.

Events made elsewhere, as the batches that the store takes: keys, types and missing columns filled in.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import polars as pl

from pipeline.events.body import MAX_EVENTS, EventBody
from pipeline.events.decode import (
    DecodedEvents,
    RequestContext,
    decode_conversions,
    decode_tracked,
)
from pipeline.events.hashing import visitor_keys
from pipeline.events.schema import ConvertEvent, TrackEvent
from pipeline.imports.tables import BadRow, Chunk
from pipeline.store.warehouse.events import EVENT_SCHEMA, EventRow

_TRACK_FIELDS: Final = frozenset(TrackEvent.__struct_fields__)
_CONVERT_FIELDS: Final = frozenset(ConvertEvent.__struct_fields__)
# A text file has no numbers; these fields want one (a timestamp may also stay text).
_NUMBER_OF: Final[dict[str, type[int] | type[float]]] = {
    "value": float,
    "revenue_cents": int,
    "timestamp": int,
}


def read_event_rows(chunk: Chunk, reception: RequestContext) -> tuple[list[EventRow], tuple[BadRow, ...]]:
    """Take each row as the event it says it is: the rows to store, and those refused, by line."""
    stored: list[EventRow] = []
    bad = list(chunk.bad_rows)
    rows = chunk.rows.drop("line").iter_rows(named=True)
    lined = zip(chunk.rows["line"].to_list(), rows, strict=True)
    while batch := list(itertools.islice(lined, MAX_EVENTS)):
        for is_conversion in (False, True):
            kind = [(line, row) for line, row in batch if (row.get("type") == "conversion") is is_conversion]
            read = _read([row for _, row in kind], reception, is_conversion=is_conversion)
            stored += read.rows
            bad += _refused([line for line, _ in kind], read)
    return stored, tuple(sorted(bad, key=lambda row: row.line))


def _read(rows: list[dict[str, Any]], reception: RequestContext, *, is_conversion: bool) -> DecodedEvents:
    fields = _CONVERT_FIELDS if is_conversion else _TRACK_FIELDS
    events = [msgspec.Raw(msgspec.json.encode(_wire(row, fields))) for row in rows]
    body = EventBody(events, None, None, size=sum(memoryview(event).nbytes for event in events))
    return (decode_conversions if is_conversion else decode_tracked)(body, reception)


def _wire(row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """The row as a sender would write it: empty cells absent, columns of no field as attributes."""
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
        # Not a number: the rules of events say what they make of it, in their own words.
        return value


def _object(text: object) -> dict[str, Any]:
    if isinstance(text, dict):
        return text
    try:
        value = msgspec.json.decode(text) if isinstance(text, str) else {}
    except msgspec.DecodeError:
        return {"attributes": text}
    return value if isinstance(value, dict) else {"attributes": text}


def _refused(lines: list[int], read: DecodedEvents) -> Iterator[BadRow]:
    for line, result in zip(lines, read.results, strict=True):
        if result.status == "rejected":
            yield BadRow(line, f"{result.code}: {result.message}")


# The stored key of each text column that has one.
KEYED_COLUMNS = {
    "event_id": "event_key",
    "visitor_id": "visitor_key",
    "user_id": "user_key",
    "transaction_id": "transaction_key",
}


def event_batch(frame: pl.DataFrame, *, received_at: int | None = None) -> pl.DataFrame:
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
    return frame.select(
        pl.col(name).cast(kind) for name, kind in EVENT_SCHEMA.items() if name in frame.columns
    )


def _keys_of(texts: pl.Series) -> pl.Series:
    """The key of each text, worked out once for each that differs."""
    distinct = texts.drop_nulls().unique()
    keys = pl.Series(visitor_keys(distinct.to_list()), dtype=pl.UInt64)
    return texts.replace_strict(distinct, keys, return_dtype=pl.UInt64, default=None)
