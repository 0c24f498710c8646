"""Ingest of events: group commit, acknowledged once on disk."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from pipeline.disk_space import DiskFullError
from pipeline.events.custom_keys import CustomKeys
from pipeline.settings import Settings
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.store.warehouse.events import EventRow
from pipeline.store.warehouse.segment_dimensions import forget_custom_keys

logger = logging.getLogger(__name__)

# Estimated size of a row in memory.
ROW_BYTES = 1024
# Called with a project's id, the number of the first event, and the events.
Listener: TypeAlias = Callable[[str, int, Sequence[EventRow]], None]
# Called with the id of a project whose new events are to be read from the warehouse.
BulkListener: TypeAlias = Callable[[str], None]
RETRY_AFTER_SECONDS = 1


class IngestError(Exception):
    """None of the events is stored; send the same ones again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        """Give the reason, and the seconds until a retry may succeed."""
        self.retry_after = retry_after
        super().__init__(message)


class OverloadedError(IngestError):
    """The queue of events to commit is full, or the service is stopping."""


class NotStoredError(IngestError):
    """The commit failed, as on a full disk; nothing of it is stored."""


@dataclass(frozen=True, slots=True, eq=False)
class _Submission:
    """Events of one request, and the future that resolves once they are stored."""

    project_id: str
    rows: Sequence[EventRow]
    size: int
    loop: asyncio.AbstractEventLoop
    stored: asyncio.Future[None]


class Ingest:
    """Group commit: one thread writes, and requests that arrive during a commit share the next one."""

    def __init__(self, warehouse: Warehouse, settings: Settings) -> None:
        """Become the only writer of events in `warehouse`."""
        self._warehouse = warehouse
        self._max_waiting_bytes = settings.ingest_queue_bytes
        self._max_rows = settings.ingest_commit_rows
        self._waiting: deque[_Submission] = deque()
        self._waiting_bytes = 0
        self._stopping = False
        self._changed = threading.Condition()
        # Held from the numbering of events to the end of the commit, so that numbers follow the commits.
        self._committing = threading.Lock()
        events.add_missing_columns(warehouse)
        self._custom_keys = CustomKeys(warehouse)
        self._openings = warehouse.openings
        self._mark = CommitMark(warehouse.path)
        self._last_seq_of = events.last_seqs(warehouse)
        # Nothing is known of the events from before.
        self._last_user_seq_of = dict(self._last_seq_of)
        self._last_seq = events.last_seq(warehouse)
        self._listeners: list[Listener] = []
        self._bulk_listeners: list[BulkListener] = []
        # The last reason why no events were stored, while it lasts.
        self._refusal: str | None = None
        # CREATE TABLE IF NOT EXISTS takes a fifth of the time of a small commit.
        self._has_table: set[str] = set()
        self._writer = threading.Thread(target=self._write_until_stopped, name="ingest", daemon=True)

    def start(self) -> None:
        """Start the writer."""
        self._writer.start()

    def stop(self) -> None:
        """Refuse new events, write the queued ones, and end the writer."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._writer.is_alive():
            self._writer.join()

    async def submit(self, project_id: str, rows: Sequence[EventRow], size: int | None = None) -> None:
        """Return once the rows are on disk; `size` is their size in memory, in bytes.

        Raises OverloadedError, NotStoredError and DiskFullError; none of the rows is stored then.
        """
        if not rows:
            return
        self._warehouse.require_space()
        loop = asyncio.get_running_loop()
        memory = ROW_BYTES * len(rows) if size is None else size
        submission = _Submission(project_id, rows, memory, loop, loop.create_future())
        with self._changed:
            self._refuse_if_overloaded(submission.size)
            self._waiting.append(submission)
            self._waiting_bytes += submission.size
            self._changed.notify()
        await submission.stored

    def write_now(self, project_id: str, table: pl.DataFrame) -> None:
        """Store one batch of events in a transaction of its own, from any thread.

        Raises what the store raises; nothing of the batch is stored then.
        """
        if table.height:
            with self._committing:
                self._commit({project_id: table})
                for bulk_listener in self._bulk_listeners:
                    bulk_listener(project_id)
            self._warehouse.checkpoint_if_large()

    def forget(self, project_id: str) -> None:
        """Delete every event of a project, between two commits. Raises what the store raises."""
        with self._committing:
            with self._warehouse.transaction() as cursor:
                events.drop(cursor, project_id)
                forget_custom_keys(cursor, project_id)
            self._custom_keys.forget(project_id)
            self._has_table.discard(project_id)
            self._last_seq_of.pop(project_id, None)
            self._last_user_seq_of.pop(project_id, None)

    def load(self, seconds: float | None = None) -> bool:  # noqa: ARG002 - a commit is a load
        """Wait until every event that was acknowledged before the call is found by queries.

        False where that takes longer than `seconds`.
        """
        return True

    def listen(self, listener: Listener) -> None:
        """Call `listener` with events once they are on disk, and before they are acknowledged.

        It is called in the order of the sequence numbers, from the threads that write.
        """
        self._listeners.append(listener)

    def listen_bulk(self, listener: BulkListener) -> None:
        """Call `listener` with the id of each project that got events by `write_now`."""
        self._bulk_listeners.append(listener)

    def last_seq_of(self, project_id: str) -> int:
        """Return the newest acknowledged sequence number of a project; 0 where it has no events."""
        return self._last_seq_of.get(project_id, 0)

    def last_loaded_seq_of(self, project_id: str) -> int:
        """Return the newest sequence number of a project that queries find; 0 where they find no events."""
        return self._last_seq_of.get(project_id, 0)

    def last_user_seq_of(self, project_id: str) -> int:
        """Return a sequence number of a project that no event with a user id is above; 0 without events."""
        return self._last_user_seq_of.get(project_id, 0)

    def _refuse_if_overloaded(self, size: int) -> None:
        if self._stopping:
            raise OverloadedError("the service is stopping; send the events again in a moment")
        # A request that is larger than the whole queue still passes through an empty one.
        if self._waiting_bytes and self._waiting_bytes + size > self._max_waiting_bytes:
            raise OverloadedError(
                "events arrive faster than they can be written; send them again in a moment"
            )

    def _write_until_stopped(self) -> None:
        while group := self._next_group():
            lost = self._store(_rows_by_project(group))
            with self._changed:
                self._waiting_bytes -= sum(submission.size for submission in group)
            _resolve_group(group, lost)
            self._warehouse.checkpoint_if_large()

    def _next_group(self) -> list[_Submission]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopping)
            group: list[_Submission] = []
            rows = 0
            while self._waiting and (not group or rows + len(self._waiting[0].rows) <= self._max_rows):
                group.append(self._waiting.popleft())
                rows += len(group[-1].rows)
            return group

    def _store(self, by_project: Mapping[str, list[EventRow]]) -> set[str]:
        """Commit all rows at once, or by project where that fails; return the ids of failed projects."""
        if self._try_commit(by_project):
            return set()
        if len(by_project) == 1:
            return set(by_project)
        return {
            project_id for project_id, rows in by_project.items() if not self._try_commit({project_id: rows})
        }

    def _try_commit(self, by_project: Mapping[str, list[EventRow]]) -> bool:
        try:
            tables = {project_id: events.to_batch(rows) for project_id, rows in by_project.items()}
            with self._committing:
                self._commit(tables)
                self._tell_listeners(by_project)
        except (DiskFullError, WarehouseUnavailableError) as error:
            # These last, so they are logged once and not at every commit.
            if self._refusal != str(error):
                logger.error("no events are stored: %s", error)  # noqa: TRY400 (said in one line)
            self._refusal = str(error)
            return False
        except Exception:
            # One of the tables may be gone, with its project.
            self._has_table.clear()
            logger.exception("events of %s were not stored", ", ".join(by_project))
            return False
        if self._refusal is not None:
            logger.warning("events are stored again")
            self._refusal = None
        return True

    def _commit(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Commit all tables at once, with the lock `_committing` held."""
        self._warehouse.require_space()
        newest: dict[str, int] = {}
        with_users: dict[str, int] = {}
        with self._custom_keys.read_again_after_failures(), self._warehouse.transaction() as cursor:
            self._follow_opening()
            seq = self._last_seq
            for project_id, table in tables.items():
                if project_id not in self._has_table:
                    events.create_table(cursor, project_id)
                limited = self._custom_keys.limit(cursor, project_id, table)
                events.append(cursor, project_id, events.number_events(limited, seq + 1))
                seq += table.height
                newest[project_id] = seq
                if "user_key" in table.columns and table["user_key"].null_count() < table.height:
                    with_users[project_id] = seq
        self._last_seq = seq
        self._last_seq_of.update(newest)
        self._last_user_seq_of.update(with_users)
        self._has_table.update(tables)
        # Nothing is acknowledged in a file that the next start would not find.
        self._warehouse.require_in_place()
        self._mark.write(seq)

    def _tell_listeners(self, by_project: Mapping[str, Sequence[EventRow]]) -> None:
        for project_id, rows in by_project.items():
            first_seq = self._last_seq_of[project_id] - len(rows) + 1
            for listener in self._listeners:
                listener(project_id, first_seq, rows)

    def _follow_opening(self) -> None:
        """Read the newest numbers again after the warehouse was opened again, within a transaction.

        A commit that met the fatal error may be in the log although it was answered as not stored.
        """
        if self._openings == self._warehouse.openings:
            return
        self._has_table.clear()
        self._last_seq_of = events.last_seqs(self._warehouse)
        self._last_user_seq_of = dict(self._last_seq_of)
        self._last_seq = events.last_seq(self._warehouse)
        self._openings = self._warehouse.openings


def _rows_by_project(group: Iterable[_Submission]) -> dict[str, list[EventRow]]:
    rows: dict[str, list[EventRow]] = {}
    for submission in group:
        rows.setdefault(submission.project_id, []).extend(submission.rows)
    return rows


def _resolve_group(group: Sequence[_Submission], lost: AbstractSet[str]) -> None:
    """Resolve the futures, with one call into each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Submission]] = {}
    for submission in group:
        by_loop.setdefault(submission.loop, []).append(submission)
    for loop, submissions in by_loop.items():
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, submissions, lost)


def _resolve(group: Sequence[_Submission], lost: AbstractSet[str]) -> None:
    for submission in group:
        # A client that disconnected has cancelled its future; its events are stored all the same.
        if submission.stored.done():
            continue
        if submission.project_id in lost:
            error = NotStoredError("the events could not be written; send them again in a moment")
            submission.stored.set_exception(error)
        else:
            submission.stored.set_result(None)
