"""Backlog: acknowledged events that are in the spool and not in the warehouse yet."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.ingest.spooled_events import EventGroup, decode_groups
from pipeline.store.event_columns import EventRow
from pipeline.store.spool.spool import Place, read_place

_NOT_KEPT: Final[Sequence[EventGroup]] = ()


@dataclass(frozen=True, slots=True)
class SpooledRecord:
    """A record of the spool; `groups` are its events, or empty where they are to be read again."""

    place: Place
    last_seq: int
    rows: int
    groups: Sequence[EventGroup]
    columns: Sequence[str] = EventRow._fields

    def read(self) -> Sequence[EventGroup]:
        """Return the events; DamagedSpoolError where they cannot be read again."""
        return self.groups or decode_groups(read_place(self.place).payload, self.columns)


class Backlog:
    """Spooled records in the order of their numbers; the caller holds a lock.

    At most `kept_rows` events are kept in memory, and further ones are read from the spool again.
    """

    def __init__(self, kept_rows: int) -> None:
        """Start empty."""
        self.bytes = 0
        self.rows = 0
        self._max_kept = kept_rows
        self._kept = 0
        self._records: deque[SpooledRecord] = deque()

    def add(
        self, place: Place, groups: Sequence[EventGroup], columns: Sequence[str] = EventRow._fields
    ) -> None:
        """Add a record at the end; `columns` are those of its encoding."""
        rows = sum(len(group.rows) for group in groups)
        is_kept = self._kept + rows <= self._max_kept
        kept = groups if is_kept else _NOT_KEPT
        self._records.append(SpooledRecord(place, groups[-1].last_seq, rows, kept, columns))
        self._kept += rows * is_kept
        self.bytes += place.size
        self.rows += rows

    def first(self, max_rows: int, up_to: int) -> list[SpooledRecord]:
        """List the first records of at most `max_rows` events and a number up to `up_to`; at least one."""
        return list(self._until(max_rows, up_to))

    def remove(self, loaded_seq: int) -> None:
        """Remove the records up to a number."""
        while self._records and self._records[0].last_seq <= loaded_seq:
            record = self._records.popleft()
            self._kept -= record.rows * bool(record.groups)
            self.bytes -= record.place.size
            self.rows -= record.rows

    def __bool__(self) -> bool:
        return bool(self._records)

    def _until(self, max_rows: int, up_to: int) -> Iterator[SpooledRecord]:
        rows = 0
        for record in self._records:
            rows += record.rows
            if record.last_seq > up_to or (rows > max_rows and rows > record.rows):
                return
            yield record
