"""When events are acknowledged: after the commit they share with whoever arrived meanwhile is on disk."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

import polars as pl

from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EventRow

logger = logging.getLogger(__name__)

# What a row weighs in memory, where its sender does not say how many bytes it came in.
ROW_BYTES = 1024
RETRY_AFTER_SECONDS = 1


class IngestError(Exception):
    """Events that were not stored, none of them: send the same ones again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        """Say why, and when to try again."""
        self.retry_after = retry_after
        super().__init__(message)


class OverloadedError(IngestError):
    """More events are waiting for a commit than memory is set aside for, or the service is stopping."""


class NotStoredError(IngestError):
    """The commit failed, as when the disk is full: nothing of it was kept."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """One request's events, and whom to tell."""

    project_id: str
    rows: Sequence[EventRow]
    size: int
    loop: asyncio.AbstractEventLoop
    stored: asyncio.Future[None]


class Ingest:
    """Natural group commit: one thread writes, and what arrives during a commit shares the next one."""

    def __init__(self, warehouse: Warehouse, settings: Settings) -> None:
        """Take the warehouse that this becomes the only writer of events of."""
        self._warehouse = warehouse
        self._max_waiting_bytes = settings.ingest_queue_bytes
        self._max_rows = settings.ingest_commit_rows
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._stopping = False
        self._changed = threading.Condition()
        # Held from giving sequence numbers to the end of the commit: they count in commit order.
        self._committing = threading.Lock()
        self._last_seq_of = events.last_seqs(warehouse)
        self._last_seq = events.last_seq(warehouse)
        # Asking for a table that is there takes a fifth of a small commit.
        self._has_table: set[str] = set()
        self._writer = threading.Thread(target=self._write_until_stopped, name="ingest", daemon=True)

    def start(self) -> None:
        """Begin writing what is submitted."""
        self._writer.start()

    def stop(self) -> None:
        """Refuse new events, write every one that waits, and end the writer."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._writer.is_alive():
            self._writer.join()

    async def submit(self, project_id: str, rows: Sequence[EventRow], size: int | None = None) -> None:
        """Return once the rows are on disk; `size` is what they weigh in bytes.

        Raises OverloadedError and NotStoredError, either of which means that none was stored.
        """
        if not rows:
            return
        loop = asyncio.get_running_loop()
        weight = ROW_BYTES * len(rows) if size is None else size
        waiting = _Waiting(project_id, rows, weight, loop, loop.create_future())
        with self._changed:
            self._refuse_if_overloaded(waiting.size)
            self._waiting.append(waiting)
            self._waiting_bytes += waiting.size
            self._changed.notify()
        await waiting.stored

    def write_now(self, project_id: str, table: pl.DataFrame) -> None:
        """Store one batch of EVENT_SCHEMA in a transaction of its own, from any thread.

        Raises what the store raises; nothing is kept then.
        """
        if table.height:
            self._commit({project_id: table})

    def forget(self, project_id: str) -> None:
        """Remove every event of a project, between two commits. Raises what the store raises."""
        with self._committing:
            with self._warehouse.transaction() as cursor:
                events.drop(cursor, project_id)
            self._has_table.discard(project_id)
            self._last_seq_of.pop(project_id, None)

    def last_seq_of(self, project_id: str) -> int:
        """The newest sequence number of the project; 0 while it has no events."""
        return self._last_seq_of.get(project_id, 0)

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
            lost = self._store(_by_project(group))
            with self._changed:
                self._waiting_bytes -= sum(waiting.size for waiting in group)
            _tell(group, lost)

    def _next_group(self) -> list[_Waiting]:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopping)
            group: list[_Waiting] = []
            rows = 0
            while self._waiting and (not group or rows + len(self._waiting[0].rows) <= self._max_rows):
                group.append(self._waiting.popleft())
                rows += len(group[-1].rows)
            return group

    def _store(self, by_project: Mapping[str, list[EventRow]]) -> set[str]:
        """Commit all projects' rows at once, or each project's alone where that fails; return those lost."""
        if self._try(by_project):
            return set()
        if len(by_project) == 1:
            return set(by_project)
        return {project_id for project_id, rows in by_project.items() if not self._try({project_id: rows})}

    def _try(self, by_project: Mapping[str, list[EventRow]]) -> bool:
        try:
            self._commit({project_id: events.to_batch(rows) for project_id, rows in by_project.items()})
        except Exception:
            # One of the tables may be gone, with its project.
            self._has_table.clear()
            logger.exception("events of %s were not stored", ", ".join(by_project))
            return False
        return True

    def _commit(self, tables: Mapping[str, pl.DataFrame]) -> None:
        with self._committing:
            seq = self._last_seq
            newest: dict[str, int] = {}
            with self._warehouse.transaction() as cursor:
                for project_id, table in tables.items():
                    if project_id not in self._has_table:
                        events.create_table(cursor, project_id)
                    events.append(cursor, project_id, events.number_events(table, seq + 1))
                    seq += table.height
                    newest[project_id] = seq
            self._last_seq = seq
            self._last_seq_of.update(newest)
            self._has_table.update(tables)


def _by_project(group: Iterable[_Waiting]) -> dict[str, list[EventRow]]:
    rows: dict[str, list[EventRow]] = {}
    for waiting in group:
        rows.setdefault(waiting.project_id, []).extend(waiting.rows)
    return rows


def _tell(group: Sequence[_Waiting], lost: AbstractSet[str]) -> None:
    """Wake each event loop once, however many requests wait on it."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting]] = {}
    for waiting in group:
        by_loop.setdefault(waiting.loop, []).append(waiting)
    for loop, told in by_loop.items():
        # A loop that was closed meanwhile has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, told, lost)


def _resolve(group: Sequence[_Waiting], lost: AbstractSet[str]) -> None:
    for waiting in group:
        # A client that went away has cancelled its wait; its events are stored all the same.
        if waiting.stored.done():
            continue
        if waiting.project_id in lost:
            error = NotStoredError("the events could not be written; send them again in a moment")
            waiting.stored.set_exception(error)
        else:
            waiting.stored.set_result(None)
