"""Spooled events: their encoding in a record of the spool, and their layout as tables."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec
import polars as pl

from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import EVENT_SCHEMA, to_batch

logger = logging.getLogger(__name__)

# At most so many rows are laid out at once: while that goes on, no other thread runs.
SLICE_ROWS: Final = 500

# Estimated size of a row in memory.
ROW_BYTES: Final = 1024

EncodedRows: TypeAlias = msgspec.Raw


class EventGroup(msgspec.Struct, frozen=True):
    """Events of one request, numbered from `first_seq` on; laid out already where they are many."""

    project_id: str
    first_seq: int
    rows: Sequence[EventRow] | pl.DataFrame

    @property
    def last_seq(self) -> int:
        """Sequence number of the last event."""
        return self.first_seq + len(self.rows) - 1

    def laid_out_if_many(self) -> "EventGroup":
        """Lay out the rows, fast while they are cached, where they are worth a table of their own."""
        if isinstance(self.rows, pl.DataFrame) or len(self.rows) < SLICE_ROWS // 2:
            return self
        try:
            return EventGroup(self.project_id, self.first_seq, to_batch(self.rows))
        except Exception:
            # The load tells which rows are none of a table.
            logger.exception("events of project %s cannot be laid out", self.project_id)
            return self


_encoder: Final = msgspec.msgpack.Encoder()
_decode: Final = msgspec.msgpack.Decoder(list[tuple[str, int, list[EventRow]]]).decode
_decode_any: Final = msgspec.msgpack.Decoder(list[tuple[str, int, list[list[Any]]]]).decode


def encode_rows(rows: Sequence[EventRow]) -> EncodedRows:
    """Encode the events of one request; raises where a value has no encoding."""
    return msgspec.Raw(_encoder.encode(rows))


def encode_groups(groups: Sequence[tuple[str, int, EncodedRows]]) -> bytes:
    """Encode the payload of a record: each group's project, first sequence number and events."""
    return _encoder.encode(groups)


def decode_groups(payload: bytes, columns: Sequence[str] = EventRow._fields) -> list[EventGroup]:
    """Decode the payload of a record, whose events have `columns`; msgspec.ValidationError."""
    if tuple(columns) == EventRow._fields:
        return [EventGroup(*group) for group in _decode(payload)]
    # Written by another version: what this one does not know is dropped, and what it adds is absent.
    known = [(place, name) for place, name in enumerate(columns) if name in EVENT_SCHEMA]
    return [
        EventGroup(
            project_id, first_seq, [EventRow(**{name: row[place] for place, name in known}) for row in rows]
        )
        for project_id, first_seq, rows in _decode_any(payload)
    ]


def to_tables(groups: Iterable[EventGroup]) -> dict[str, pl.DataFrame]:
    """Lay out groups as a table of each project, with `seq`, in the order of the numbers."""
    pieces: dict[str, list[pl.DataFrame]] = {}
    waiting: dict[str, _Slice] = {}
    for group in groups:
        found = waiting.setdefault(group.project_id, _Slice([], []))
        tables = pieces.setdefault(group.project_id, [])
        if isinstance(group.rows, pl.DataFrame) or len(found.rows) + len(group.rows) > SLICE_ROWS:
            tables.extend(found.take())
        if isinstance(group.rows, pl.DataFrame):
            numbers = pl.int_range(group.first_seq, group.first_seq + group.rows.height, eager=True)
            tables.append(group.rows.with_columns(seq=numbers))
        else:
            found.rows.extend(group.rows)
            found.seqs.extend(range(group.first_seq, group.first_seq + len(group.rows)))
    for project_id, found in waiting.items():
        pieces[project_id].extend(found.take())
    return {project_id: pl.concat(tables) for project_id, tables in pieces.items()}


@dataclass(slots=True)
class _Slice:
    """Rows that are laid out together, and their sequence numbers."""

    rows: list[EventRow]
    seqs: list[int]

    def take(self) -> list[pl.DataFrame]:
        if not self.rows:
            return []
        table = to_batch(self.rows).with_columns(seq=pl.Series(self.seqs, dtype=pl.Int64))
        self.rows, self.seqs = [], []
        return [table]
