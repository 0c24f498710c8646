"""Ingest of events: acknowledged once on disk in the spool, and loaded into the warehouse from there."""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import polars as pl
from prometheus_client import Histogram

from pipeline.disk_space import DiskFullError
from pipeline.ingest.event_commits import EventCommits
from pipeline.ingest.loader import BulkBeginning, Loader, ProjectListener
from pipeline.ingest.sequence_numbers import SequenceNumbers
from pipeline.ingest.spool_writer import Listener, SpoolWriter
from pipeline.ingest.spooled_events import ROW_BYTES, decode_groups
from pipeline.ingest.submissions import Submission
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.warehouse_id import read_id
from pipeline.store.spool import loaded_events
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.taskless import Tell, told

logger = logging.getLogger(__name__)

# Called with the id of a project, and the ids of a person whose events were erased.
ErasureListener: TypeAlias = Callable[[str, PersonIds], None]


@dataclass(frozen=True, slots=True)
class IngestState:
    """Numbers of the newest acknowledged and loaded events, and bytes waiting in memory and in the spool."""

    acknowledged: int
    loaded: int
    queued_bytes: int
    spooled_bytes: int


class Ingest:
    """Group commit into the spool; a loader stores what is in it, in the same order.

    Queries find an event once it is loaded, and `load` waits for that.
    """

    def __init__(self, warehouse: Warehouse, settings: Settings) -> None:
        """Become the only writer of events in `warehouse`, and read what an earlier process left to load."""
        events.add_missing_columns(warehouse)
        last_seq_of = events.last_seqs(warehouse)
        with warehouse.transaction() as cursor:
            loaded_events.create_table(cursor, max(last_seq_of.values(), default=0))
            loaded_seq = loaded_events.read_loaded_seq(cursor) or 0
        self._spool = Spool(settings.spool_path, read_id(warehouse) or "", EventRow._fields)
        self._spool.start_after(loaded_seq)
        last_seq = max(*last_seq_of.values(), events.retired_seq(warehouse), loaded_seq)
        self._numbers = SequenceNumbers(last_seq, loaded_seq, last_seq_of, CommitMark(warehouse.path))
        commits = EventCommits(warehouse, loaded_seq, last_seq_of)
        self._loader = Loader(warehouse, settings, self._spool, self._numbers, commits)
        self._writer = SpoolWriter(warehouse, settings, self._spool, self._numbers, self._loader)
        # Held by an import from the choice of rows to their storage.
        self.importing = threading.Lock()
        self._forget_listeners: list[ProjectListener] = []
        self._erasure_listeners: list[ErasureListener] = []
        self._warehouse = warehouse
        self._read_left(loaded_seq)

    def keep_custom_keys(self, needed: Callable[[str], Collection[str]]) -> None:
        """Keep the custom keys that a project needs, by its id, beyond the limit of their number."""
        self._loader.custom_keys.needed = needed

    def start(self) -> None:
        """Load what an earlier process left, where that is possible, and start the threads."""
        try:
            self._loader.load_now(self._numbers.last_acknowledged)
        except (DiskFullError, WarehouseUnavailableError) as error:
            logger.warning("events stay in the spool for now: %s", error)
        self._loader.start()
        self._writer.start()

    def stop(self) -> None:
        """Refuse new events, write the queued ones, load them, and end the threads."""
        self._writer.stop()
        self._loader.stop()
        self._spool.close(self._loader.loaded_seq)

    async def submit(self, project_id: str, rows: Sequence[EventRow], size: int | None = None) -> None:
        """Return once the rows are on disk; `size` is their size in memory, in bytes.

        Raises OverloadedError, NotStoredError, DiskFullError and WarehouseUnavailableError; none of the rows
        is stored then.
        """
        if rows:
            await told(partial(self.put, project_id, rows, ROW_BYTES * len(rows) if size is None else size))

    def put(self, project_id: str, rows: Sequence[EventRow], size: int, tell: Tell) -> None:
        """Queue rows of `size` bytes in memory.

        `tell` is called once they are on disk, or with an error as `submit` raises it;
        OverloadedError is raised at once.
        """
        loop = asyncio.get_running_loop()
        self._writer.put(Submission(project_id, rows, size, loop, tell))

    def write_now(self, project_id: str, table: pl.DataFrame) -> None:
        """Store one batch of events in a transaction of its own, from any thread.

        Raises what the store raises; nothing of the batch is stored then.
        """
        if table.height:
            self._loader.write_now(project_id, table)
            self._warehouse.checkpoint_if_large()

    def forget(self, project_id: str) -> None:
        """Delete every event of a project, between two commits. Raises what the store raises."""
        self._loader.forget(project_id)
        self._numbers.forget(project_id)
        for listener in self._forget_listeners:
            listener(project_id)

    def tell_erasure(self, project_id: str, person: PersonIds) -> None:
        """Tell the listeners of a person whose events are gone from the warehouse; OSError."""
        for listener in self._erasure_listeners:
            listener(project_id, person)

    def remove_loaded_files(self) -> None:
        """Load what is in the spool, and remove its files; DiskFullError, WarehouseUnavailableError."""
        with self._numbers.lock:
            self._spool.leave_segment()
        if not self.load():
            raise WarehouseUnavailableError("acknowledged events cannot be loaded at present")
        self._spool.remove(self._loader.loaded_seq)

    def load(self, seconds: float | None = None) -> bool:
        """Wait until every event that was acknowledged before the call is found by queries.

        False where that takes longer than `seconds`, or is impossible at present, as on a full disk.
        """
        # With the lock, events that listeners were told of are acknowledged.
        with self._numbers.lock:
            newest = self._numbers.last_acknowledged
        return self._loader.load(newest, seconds)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with events once they are on disk, and before they are acknowledged.

        It is called in the order of the sequence numbers, from the thread that writes.
        """
        self._writer.listeners.append(listener)

    def listen_bulk(self, begin: BulkBeginning, end: ProjectListener) -> None:
        """Call `begin` and `end` around each `write_now`, whose events are told to no other listener.

        `begin` is called before listeners are told of any event with a higher number, and `end` once queries
        find the events, or the write has failed.
        """
        self._loader.bulk_listeners.append((begin, end))

    def listen_forget(self, listener: ProjectListener) -> None:
        """Call `listener` with the id of each project whose events were deleted."""
        self._forget_listeners.append(listener)

    def listen_erasure(self, listener: ErasureListener) -> None:
        """Call `listener` with a project's id and the ids of a person whose events were erased."""
        self._erasure_listeners.append(listener)

    def last_seq_of(self, project_id: str) -> int:
        """Return the newest acknowledged sequence number of a project; 0 where it has no events."""
        return self._numbers.last_seq_of(project_id)

    def last_loaded_seq_of(self, project_id: str) -> int:
        """Return the newest sequence number of a project that queries find; 0 where they find no events."""
        return self._loader.last_loaded_seq_of(project_id)

    def last_user_seq_of(self, project_id: str) -> int:
        """Return a sequence number of a project that no event with a user id is above; 0 without events."""
        return self._numbers.last_user_seq_of(project_id)

    @property
    def commit_seconds(self) -> Histogram:
        """Times of synced writes of events, in seconds."""
        return self._writer.commit_seconds

    def state(self) -> IngestState:
        """Measure what waits at present."""
        # First the lower number, so that none is negative.
        loaded = self._loader.loaded_seq
        return IngestState(
            max(self._numbers.last_acknowledged, loaded),
            loaded,
            self._writer.waiting_bytes,
            self._loader.backlog_bytes,
        )

    def _read_left(self, loaded_seq: int) -> None:
        """Take over the records that an earlier process acknowledged and did not load."""
        for segment in self._spool.read_left():
            if segment.header is None:
                continue
            for record in segment.records:
                if record.last_seq <= loaded_seq:
                    continue
                place = Place(segment.path, record.offset, record.end - record.offset)
                groups = decode_groups(record.payload, segment.header.columns)
                for group in groups:
                    self._numbers.note_events(group.project_id, group.last_seq, has_users=True)
                self._numbers.continue_after(record.last_seq)
                self._loader.add(place, groups, segment.header.columns)
