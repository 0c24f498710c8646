"""Loader: spooled events into the warehouse, in large batches, each exactly once."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import polars as pl

from pipeline.events.custom_keys import CustomKeys
from pipeline.ingest.backlog import Backlog, SpooledRecord
from pipeline.ingest.event_commits import EventCommits, LoadedSeqError
from pipeline.ingest.lasting_failure import LastingFailure
from pipeline.ingest.refused_events import write_refused
from pipeline.ingest.sequence_numbers import SequenceNumbers
from pipeline.ingest.spooled_events import ROW_BYTES, EventGroup, to_tables
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import is_of_values

logger = logging.getLogger(__name__)

# Called with the id of a project, and the number of the first event that it is about to get.
BulkBeginning: TypeAlias = Callable[[str, int], None]
# Called with the id of a project.
ProjectListener: TypeAlias = Callable[[str], None]
# A load takes some ten milliseconds however few its events are.
GATHER_SECONDS: Final = 0.5
_RETRY_SECONDS: Final = 1.0


class Loader:
    """The only writer of events into the warehouse; one thread, and callers that write at once.

    Each transaction stores events with the number up to which all are loaded, so that none is lost or
    loaded twice whenever the process ends.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        settings: Settings,
        spool: Spool,
        numbers: SequenceNumbers,
        commits: EventCommits,
    ) -> None:
        """Load from `spool` what comes after the events that are committed."""
        self.bulk_listeners: list[tuple[BulkBeginning, ProjectListener]] = []
        self._warehouse = warehouse
        self._spool = spool
        self._numbers = numbers
        self._max_rows = settings.ingest_commit_rows
        self._refused_path = settings.refused_events_path
        self._commits = commits
        # Held by the one transaction that stores events.
        self._loading = threading.Lock()
        self._changed = threading.Condition()
        self._backlog = Backlog(settings.ingest_queue_bytes // ROW_BYTES)
        self._wanted_seq = 0
        self._failures = 0
        self._failure = LastingFailure(
            logger, begins="events stay in the spool for now", ends="events are loaded from the spool again"
        )
        self._stopping = False
        self._thread = threading.Thread(target=self._load_until_stopped, name="loader", daemon=True)

    @property
    def custom_keys(self) -> CustomKeys:
        """The keys of custom dimensions that projects keep."""
        return self._commits.custom_keys

    @property
    def loaded_seq(self) -> int:
        """Number up to which every event is loaded."""
        return self._commits.loaded_seq

    @property
    def backlog_bytes(self) -> int:
        """Bytes in the spool of events that are not loaded."""
        return self._backlog.bytes

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Load what waits, where that is possible, and end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def add(
        self, place: Place, groups: Sequence[EventGroup], columns: Sequence[str] = EventRow._fields
    ) -> None:
        """Take over a record of the spool, in the order of the numbers."""
        with self._changed:
            was_empty = not self._backlog
            self._backlog.add(place, groups, columns)
            if was_empty or self._backlog.rows >= self._max_rows:
                self._changed.notify_all()

    def load(self, last_seq: int, seconds: float | None) -> bool:
        """Wait until every event up to a number is loaded; False after `seconds`, or where a load fails."""
        if self.loaded_seq >= last_seq:
            return True
        with self._changed:
            failures = self._failures
            self._wanted_seq = max(self._wanted_seq, last_seq)
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: (
                    self.loaded_seq >= last_seq or self._failures > failures or not self._thread.is_alive()
                ),
                timeout=seconds,
            )
            return self.loaded_seq >= last_seq

    def load_now(self, last_seq: int) -> None:
        """Load every event up to a number in this thread; raises what the store raises."""
        with self._loading:
            self._load_up_to(last_seq)

    def write_now(self, project_id: str, table: pl.DataFrame) -> None:
        """Store one batch of events in a transaction of its own; raises what the store raises."""
        with self._loading:
            with self._numbers.lock:
                first_seq = self._numbers.take(table.height)
                for begin, _ in self.bulk_listeners:
                    begin(project_id, first_seq)
            try:
                self._store_bulk(project_id, table, first_seq)
            finally:
                for _, end in self.bulk_listeners:
                    end(project_id)

    def _store_bulk(self, project_id: str, table: pl.DataFrame, first_seq: int) -> None:
        """Store and acknowledge one batch of events, after all that wait."""
        self._load_up_to(first_seq - 1)
        last_seq = first_seq + table.height - 1
        numbered = {project_id: events.number_events(table, first_seq)}
        try:
            self._commit(numbered, last_seq)
        except LoadedSeqError:
            self._read_loaded_seq()
            self._commit(numbered, last_seq)
        has_users = "user_key" in table.columns and table["user_key"].null_count() < table.height
        self._numbers.note_events(project_id, last_seq, has_users=has_users)
        with self._numbers.lock:
            self._numbers.acknowledge(last_seq)

    def forget(self, project_id: str) -> None:
        """Load what waits, and delete every event of a project; raises what the store raises."""
        with self._loading:
            with self._numbers.lock:
                acknowledged = self._numbers.last_acknowledged
            self._load_up_to(acknowledged)
            self._commits.forget(project_id)

    def last_loaded_seq_of(self, project_id: str) -> int:
        """Return the newest loaded number of a project; 0 without one."""
        return self._commits.last_seq_of(project_id)

    def _load_until_stopped(self) -> None:
        while self._await_events():
            try:
                with self._loading:
                    self._load_batch(self._numbers.last_acknowledged)
            except Exception as error:  # noqa: BLE001 - a load is tried again whatever it failed of
                self._note_failure(error)
                if self._stopping:
                    return
            else:
                self._failure.end()
                self._warehouse.checkpoint_if_large()

    def _await_events(self) -> bool:
        """Wait for events, and a moment for more of them; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._backlog or self._stopping)
            self._changed.wait_for(self._is_due, timeout=GATHER_SECONDS)
            # A batch may have loaded them meanwhile.
            return bool(self._backlog) or not self._stopping

    def _is_due(self) -> bool:
        is_wanted = self._wanted_seq > self.loaded_seq
        return is_wanted or self._stopping or self._backlog.rows >= self._max_rows

    def _note_failure(self, error: Exception) -> None:
        self._failure.note(error)
        with self._changed:
            self._failures += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopping, timeout=_RETRY_SECONDS)

    def _load_up_to(self, last_seq: int) -> None:
        while self._load_batch(last_seq):
            pass

    def _load_batch(self, last_seq: int) -> bool:
        """Load the first records up to a number; False where there are none."""
        self._warehouse.require_in_place()
        with self._changed:
            records = self._backlog.first(self._max_rows, last_seq)
        if not records:
            return False
        try:
            self._load_records(records)
        except LoadedSeqError:
            self._read_loaded_seq()
        return True

    def _load_records(self, records: Sequence[SpooledRecord]) -> None:
        try:
            self._commit(to_tables(_groups_of(records)), records[-1].last_seq)
        except Exception as error:
            if not is_of_values(error):
                raise
            # One of the tables may be gone, with its project; or an event is no row of a table.
            logger.exception("%d records of the spool are loaded one by one", len(records))
            for record in records:
                self._load_record(record)

    def _load_record(self, record: SpooledRecord) -> None:
        """Load one record; a group that the warehouse refuses is set aside."""
        groups, refused = list[EventGroup](), list[EventGroup]()
        for group in record.read():
            (groups if self._commits.is_loadable(group) else refused).append(group)
        write_refused(self._refused_path, refused)
        self._commit(to_tables(groups), record.last_seq)

    def _commit(self, tables: Mapping[str, pl.DataFrame], last_seq: int) -> None:
        """Store events, with `_loading` held, and remove the files of the spool that are loaded."""
        self._commits.commit(tables, last_seq)
        self._note_loaded()
        # The spool keeps what is in a file that the next start would not find.
        self._warehouse.require_in_place()
        self._spool.remove(last_seq)

    def _read_loaded_seq(self) -> None:
        self._commits.read_loaded_seq()
        self._note_loaded()

    def _note_loaded(self) -> None:
        with self._changed:
            self._backlog.remove(self.loaded_seq)
            self._changed.notify_all()


def _groups_of(records: Iterable[SpooledRecord]) -> Iterable[EventGroup]:
    for record in records:
        yield from record.read()
