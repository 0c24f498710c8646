"""Tables of one row per event: decoded by the rules of the API, and completed to batches of the store."""

import itertools
from dataclasses import dataclass, replace
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
from pipeline.events.schema import CONVERSION, ConvertEvent, TrackEvent
from pipeline.events.text_hashes import hash_texts
from pipeline.events.timestamps import microseconds
from pipeline.imports.event_contents import CLAIMED_AT, HAS_ID
from pipeline.imports.plain_events import WITHOUT_ID, decode_plain
from pipeline.sources.cell_values import numbers
from pipeline.sources.tables import LINE, BadRow, Chunk, is_value, require_value
from pipeline.sources.times import is_in_calendar, read_times
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import EVENT_SCHEMA, to_batch

# A file has no pages that were late: a column of that name is an attribute.
_TRACK_FIELDS: Final = frozenset(TrackEvent.__struct_fields__) - {"late"}
_CONVERT_FIELDS: Final = frozenset(ConvertEvent.__struct_fields__)
# A text file has no numbers; these fields take one (a timestamp may also stay text).
_NUMBER_OF: Final[dict[str, type[int] | type[float]]] = {
    "value": float,
    "revenue_cents": int,
    "timestamp": int,
}
_ATTRIBUTES: Final = frozenset({"attributes"})
# Every other column is an attribute; that of the name has several of them.
_NO_ATTRIBUTES: Final = (_TRACK_FIELDS | _CONVERT_FIELDS) - _ATTRIBUTES

_AT: Final = "(time)"
_FAULT: Final = "(fault)"

# No decoder nests so deep: the API refuses such an event in its own words.
_TOO_DEEP: Final = b'{"attributes":{"nested":' + b"[" * 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEvents:
    """Valid rows of a chunk in EVENT_SCHEMA with `CLAIMED_AT` and `HAS_ID`, and the invalid ones."""

    events: pl.DataFrame
    bad_rows: tuple[BadRow, ...]


def read_event_rows(chunk: Chunk, context: RequestContext) -> ReadEvents:
    """Decode each row as an event; a row without an event id gets its id later, from its content."""
    chunk = _with_usable_times(_within_calendar(_without_compounds(_with_points(chunk))), context)
    attributes = [name for name in chunk.rows.columns if name != LINE and name not in _NO_ATTRIBUTES]
    plain = decode_plain(chunk.rows, attributes, context, _attributes_of)
    left = chunk.rows.join(plain.select(LINE), on=LINE, how="anti", maintain_order="left")
    decoded, bad = _decode_rows(replace(chunk, rows=left), context)
    return ReadEvents(
        events=pl.concat([plain, decoded]).sort(LINE).drop(LINE),
        bad_rows=tuple(sorted([*chunk.bad_rows, *bad], key=lambda row: row.line)),
    )


def _with_points(chunk: Chunk) -> Chunk:
    """Write numbers with a decimal comma as JSON does."""
    if chunk.rows.schema.get("value") != pl.String:
        return chunk
    number = numbers("value", pl.String(), chunk.delimiter).cast(pl.String)
    has_comma = pl.col("value").str.contains(",", literal=True)
    value = pl.when(has_comma & number.is_not_null()).then(number).otherwise(pl.col("value"))
    return replace(chunk, rows=chunk.rows.with_columns(value.alias("value")))


def _without_compounds(chunk: Chunk) -> Chunk:
    """Leave out columns of bytes, intervals, lists and records, which are no attributes.

    UnreadableSourceError where one has the name of a field.
    """
    kinds = {name: kind for name, kind in chunk.rows.schema.items() if name not in _ATTRIBUTES}
    for name in sorted(_NO_ATTRIBUTES & kinds.keys()):
        require_value(name, kinds[name], chunk.table)
    unknown = [name for name, kind in kinds.items() if not is_value(kind)]
    return replace(chunk, rows=chunk.rows.drop(unknown))


def _with_usable_times(chunk: Chunk, context: RequestContext) -> Chunk:
    """Write times as ISO 8601 does; rows of one before 2000 or over a year ahead become invalid ones."""
    name, kind = "timestamp", chunk.rows.schema.get("timestamp")
    if kind is None:
        return chunk
    us, fault = read_times(chunk.rows, name, "UTC", now_us=context.received_us)
    at = pl.from_epoch(us, time_unit="us").dt.replace_time_zone("UTC")
    rows = chunk.rows.with_columns(at.alias(_AT), fault.alias(_FAULT))
    is_number = pl.lit(kind.is_numeric())
    if kind == pl.String:
        is_number = pl.col(name).str.contains(r"^\s*[\d.]+\s*$")
    if fault.null_count() < len(fault):
        # What is no time at all is refused by the decoder, in its words.
        is_told = pl.col(_AT).is_not_null() | is_number
        is_usable = pl.col(_FAULT).is_null() | pl.col(name).is_null() | ~is_told
        faulty, rows = rows.filter(~is_usable), rows.filter(is_usable)
    else:
        faulty = rows.clear()
    if kind.is_numeric():
        rows = rows.with_columns(pl.col(_AT).alias(name))
    elif kind == pl.String and rows.select((is_other := _is_other_time(name)).any()).item():
        # The decoder takes any other number for milliseconds.
        text = pl.when(is_other).then(pl.col(_AT).dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ"))
        rows = rows.with_columns(text.otherwise(pl.col(name)).alias(name))
    bad = [
        BadRow(line, f"invalid_timestamp: {why}", chunk.table)
        for line, why in faulty.select(LINE, _FAULT).iter_rows()
    ]
    return replace(chunk, rows=rows.drop(_AT, _FAULT), bad_rows=(*chunk.bad_rows, *bad))


def _is_other_time(name: str) -> pl.Expr:
    """Tell whether a text is a time that is not written as ISO 8601 does."""
    return pl.col(_AT).is_not_null() & ~pl.col(name).str.contains(r"^\d{4}-\d\d-\d\d")


def _within_calendar(chunk: Chunk) -> Chunk:
    """Move rows with a date or time that no calendar has to the invalid ones."""
    bad: list[BadRow] = []
    rows = chunk.rows
    for name, kind in rows.schema.items():
        is_usable = rows.select(is_in_calendar(name, kind).alias(name))[name]
        if not is_usable.all():
            message = f"invalid_timestamp: {name!r} is outside of the years 1 to 9999"
            bad += [BadRow(line, message, chunk.table) for line in rows.filter(~is_usable)[LINE]]
            rows = rows.filter(is_usable)
    return replace(chunk, rows=rows, bad_rows=(*chunk.bad_rows, *bad)) if bad else chunk


def _decode_rows(chunk: Chunk, context: RequestContext) -> tuple[pl.DataFrame, list[BadRow]]:
    """Decode rows one by one, as the API does: EVENT_SCHEMA with LINE, `CLAIMED_AT` and `HAS_ID`."""
    found = list[EventRow]()
    lines: list[int] = []
    claimed: list[int | None] = []
    has_id: list[bool] = []
    bad: list[BadRow] = []
    rows = chunk.rows.drop(LINE).iter_rows(named=True)
    lined = zip(chunk.rows[LINE].to_list(), map(_given, rows), strict=True)
    while batch := list(itertools.islice(lined, MAX_EVENTS)):
        for is_conversion in (False, True):
            chosen = [(line, row) for line, row in batch if (row.get("type") == CONVERSION) is is_conversion]
            decoded = _decode([row for _, row in chosen], context, is_conversion=is_conversion)
            accepted = iter(decoded.rows)
            for (line, row), result in zip(chosen, decoded.results, strict=True):
                if result.status == "rejected":
                    bad.append(BadRow(line, f"{result.code}: {result.message}", chunk.table))
                else:
                    found.append(next(accepted))
                    lines.append(line)
                    claimed.append(_claimed_at(row))
                    has_id.append("event_id" in row)
    events = to_batch(found).with_columns(
        pl.Series(LINE, lines, pl.Int64),
        pl.Series(CLAIMED_AT, claimed, pl.Int64),
        pl.Series(HAS_ID, has_id, pl.Boolean),
    )
    return events, bad


def _attributes_of(cells: dict[str, Any]) -> dict[str, Any] | None:
    """Build the attributes of a row from the cells that attributes are built of, as they are sent."""
    given = _event_object(_given(cells), _ATTRIBUTES).get("attributes")
    decoded: dict[str, Any] | None = msgspec.json.decode(msgspec.json.encode(given))
    return decoded


def _claimed_at(row: dict[str, Any]) -> int | None:
    claimed = msgspec.to_builtins(_typed("timestamp", row.get("timestamp")))
    return None if claimed is None else microseconds(claimed)


def _decode(rows: list[dict[str, Any]], context: RequestContext, *, is_conversion: bool) -> DecodedEvents:
    fields = _CONVERT_FIELDS if is_conversion else _TRACK_FIELDS
    complete = ({"event_id": WITHOUT_ID, **row} for row in rows)
    events = [_encoded(row, fields) for row in complete]
    body = EventBody(events, None, None, size=sum(memoryview(event).nbytes for event in events))
    return (decode_conversions if is_conversion else decode_tracked)(body, context)


def _encoded(row: dict[str, Any], fields: frozenset[str]) -> msgspec.Raw:
    """Encode a row as the JSON of an event, one that is refused where its attributes nest too deep."""
    try:
        return msgspec.Raw(msgspec.json.encode(_event_object(row, fields)))
    except RecursionError:
        return msgspec.Raw(_TOO_DEEP)


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
        return _given(text)
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
            frame = frame.with_columns(hash_texts(frame[text]).alias(key))
    arrival = pl.col("occurred_at") if received_at is None else pl.lit(received_at)
    frame = frame.with_columns(arrival.cast(pl.Int64).alias("received_at"))
    flags = [pl.lit(False).alias(name) for name in ("is_refund", "is_bot") if name not in frame.columns]
    frame = frame.with_columns(
        *flags, *(pl.col(name).fill_null(False) for name in ("is_refund", "is_bot") if name in frame.columns)
    )
    return frame.select(
        pl.col(name).cast(kind) for name, kind in EVENT_SCHEMA.items() if name in frame.columns
    )
