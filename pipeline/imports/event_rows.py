"""Tables of one row per event: decoded by the rules of the API, and completed to batches of the store."""

import itertools
from dataclasses import dataclass
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
from pipeline.events.hashing import hash64
from pipeline.events.schema import CONVERSION, ConvertEvent, TrackEvent
from pipeline.events.timestamps import microseconds
from pipeline.imports.row_contents import hash_fields, hash_texts, number_rows, numbered_ids
from pipeline.imports.tables import LINE, BadRow, Chunk
from pipeline.store.warehouse.events import EVENT_SCHEMA, EventRow
from pipeline.store.warehouse.imports.content_counts import ContentCounts

_TRACK_FIELDS: Final = frozenset(TrackEvent.__struct_fields__)
_CONVERT_FIELDS: Final = frozenset(ConvertEvent.__struct_fields__)
# A text file has no numbers; these fields take one (a timestamp may also stay text).
_NUMBER_OF: Final[dict[str, type[int] | type[float]]] = {
    "value": float,
    "revenue_cents": int,
    "timestamp": int,
}
# Stands for the id of a row that has none while the row is decoded.
_WITHOUT_ID: Final = "row"
_CONTENT_FIELDS: Final = (
    *("type", "visitor_id", "user_id", "experiment_id", "variant_id", "goal_id", "url", "selector"),
    *("event_name", "value", "revenue_cents", "currency", "transaction_id", "is_refund"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEvents:
    """Valid rows of a chunk as events, and the invalid ones.

    `contents` has the hash of each event's content where its row has no event id, None where it has one.
    """

    rows: list[EventRow]
    contents: list[int | None]
    bad_rows: tuple[BadRow, ...]


def read_event_rows(chunk: Chunk, context: RequestContext) -> ReadEvents:
    """Decode each row as an event; a row without an event id gets its id later, from its content."""
    found: list[tuple[EventRow, int | None]] = []
    bad = list(chunk.bad_rows)
    rows = chunk.rows.drop(LINE).iter_rows(named=True)
    lined = zip(chunk.rows[LINE].to_list(), map(_given, rows), strict=True)
    while batch := list(itertools.islice(lined, MAX_EVENTS)):
        for is_conversion in (False, True):
            chosen = [(line, row) for line, row in batch if (row.get("type") == CONVERSION) is is_conversion]
            decoded = _decode([row for _, row in chosen], context, is_conversion=is_conversion)
            accepted = iter(decoded.rows)
            for (line, row), result in zip(chosen, decoded.results, strict=True):
                if result.status == "rejected":
                    bad.append(BadRow(line, f"{result.code}: {result.message}", chunk.path.name))
                else:
                    event = next(accepted)
                    found.append((event, None if "event_id" in row else _content_of(event, row)))
    return ReadEvents(
        rows=[event for event, _ in found],
        contents=[content for _, content in found],
        bad_rows=tuple(sorted(bad, key=lambda row: row.line)),
    )


def number_events(read: ReadEvents, counts: ContentCounts) -> list[EventRow]:
    """Give the events without ids theirs: `import-<content>-<number among equal rows>`."""
    contents = pl.Series([content for content in read.contents if content is not None], dtype=pl.UInt64)
    if contents.is_empty():
        return read.rows
    ids = iter(numbered_ids(contents, number_rows(contents, counts)))
    return [
        event if content is None else _with_id(event, f"import-{next(ids)}")
        for event, content in zip(read.rows, read.contents, strict=True)
    ]


def _with_id(event: EventRow, event_id: str) -> EventRow:
    return event._replace(event_id=event_id, event_key=hash64(event_id))


def _content_of(event: EventRow, row: dict[str, Any]) -> int:
    """Hash what happened, to whom and when; attributes, like segments, are no part of it."""
    claimed = msgspec.to_builtins(_typed("timestamp", row.get("timestamp")))
    # A row without a time is stored at that of the import, and one ahead of it as well.
    at = None if claimed is None else microseconds(claimed)
    return hash_fields([at, *(getattr(event, field) for field in _CONTENT_FIELDS)])


def _decode(rows: list[dict[str, Any]], context: RequestContext, *, is_conversion: bool) -> DecodedEvents:
    fields = _CONVERT_FIELDS if is_conversion else _TRACK_FIELDS
    complete = ({"event_id": _WITHOUT_ID, **row} for row in rows)
    events = [msgspec.Raw(msgspec.json.encode(_event_object(row, fields))) for row in complete]
    body = EventBody(events, None, None, size=sum(memoryview(event).nbytes for event in events))
    return (decode_conversions if is_conversion else decode_tracked)(body, context)


def _given(row: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a row that are not empty."""
    return {name: value for name, value in row.items() if value is not None and value != ""}


def _event_object(row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    """Convert the cells of a row to the JSON object of an event, with other columns as attributes."""
    event = {name: _typed(name, value) for name, value in row.items() if name in fields}
    attributes = _object(event.pop("attributes", None))
    others = {name: value for name, value in row.items() if name not in _TRACK_FIELDS | _CONVERT_FIELDS}
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
    return texts.replace_strict(distinct, hash_texts(distinct), return_dtype=pl.UInt64, default=None)
