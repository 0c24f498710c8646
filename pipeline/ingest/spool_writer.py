"""Spool writer: one thread appends submissions, and those that arrive meanwhile share the next write."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from prometheus_client import Histogram

from pipeline.ingest.errors import NotStoredError, OverloadedError
from pipeline.ingest.lasting_failure import PASSING, LastingFailure
from pipeline.ingest.loader import Loader
from pipeline.ingest.sequence_numbers import SequenceNumbers, have_users
from pipeline.ingest.spooled_events import EncodedRows, EventGroup, encode_groups, encode_rows
from pipeline.ingest.submissions import Submission, resolve
from pipeline.settings import Settings
from pipeline.store.event_columns import EventRow
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse.connection import Warehouse

logger = logging.getLogger(__name__)

# Called with a project's id, the number of the first event, and the events.
Listener: TypeAlias = Callable[[str, int, Sequence[EventRow]], None]
# So many submissions are worth a write of their own, which takes some 150 µs of the interpreter's time.
SHARED_WRITE: Final = 16
# Seconds, from a write that the disk's cache takes to one on a disk that is too busy.
_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_NOT_STORED: Final = partial(NotStoredError, "the events could not be written; send them again in a moment")


class SpoolWriter:
    """The only writer of the spool: numbers events, syncs them, and passes them on to the loader."""

    def __init__(
        self, warehouse: Warehouse, settings: Settings, spool: Spool, numbers: SequenceNumbers, loader: Loader
    ) -> None:
        """Write into `spool`, which is on the disk of `warehouse`."""
        self.listeners: list[Listener] = []
        self.commit_seconds = Histogram(
            "truelift_commit_seconds", "Time of a synced write of events.", registry=None, buckets=_BUCKETS
        )
        self._warehouse = warehouse
        self._spool = spool
        self._numbers = numbers
        self._loader = loader
        self._max_waiting_bytes = settings.ingest_queue_bytes
        self._max_spooled_bytes = settings.spool_bytes
        self._max_rows = settings.ingest_commit_rows
        self._waiting: deque[Submission] = deque()
        self._waiting_bytes = 0
        self._is_due = False
        # The event loop that is about to call `_write_soon`.
        self._scheduled_in: object = None
        self._stopping = False
        self._changed = threading.Condition()
        self._failure = LastingFailure(logger, begins="no events are stored", ends="events are stored again")
        self._thread = threading.Thread(target=self._write_until_stopped, name="ingest", daemon=True)

    @property
    def waiting_bytes(self) -> int:
        """Bytes in memory of events that wait for the disk."""
        return self._waiting_bytes

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new events, write the queued ones, and end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def put(self, submission: Submission) -> None:
        """Queue a submission, in the thread of its event loop; OverloadedError."""
        with self._changed:
            self._refuse_if_overloaded(submission.size)
            self._waiting.append(submission)
            self._waiting_bytes += submission.size
            if len(self._waiting) >= SHARED_WRITE:
                self._changed.notify()
            is_scheduled = self._scheduled_in is submission.loop
            self._scheduled_in = submission.loop
        if not is_scheduled:
            # Once the loop has worked on all that it has read by now.
            submission.loop.call_soon(self._write_soon)

    def _write_soon(self) -> None:
        with self._changed:
            self._scheduled_in = None
            if self._waiting:
                self._is_due = True
                self._changed.notify()

    def _refuse_if_overloaded(self, size: int) -> None:
        if self._stopping:
            raise OverloadedError("the service is stopping; send the events again in a moment")
        # A request that is larger than the whole queue still passes through an empty one.
        is_full = self._waiting_bytes and self._waiting_bytes + size > self._max_waiting_bytes
        if is_full or self._loader.backlog_bytes > self._max_spooled_bytes:
            raise OverloadedError(
                "events arrive faster than they can be written; send them again in a moment"
            )

    def _write_until_stopped(self) -> None:
        while group := self._next_group():
            encoded = list[tuple[Submission, EncodedRows]]()
            for submission in group:
                try:
                    encoded.append((submission, encode_rows(submission.rows)))
                except Exception:
                    logger.exception("events of project %s were not stored", submission.project_id)
                    self._answer([submission], _NOT_STORED)
            if encoded:
                self._store(encoded)

    def _next_group(self) -> list[Submission]:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_due or len(self._waiting) >= SHARED_WRITE or self._stopping
            )
            group: list[Submission] = []
            rows = 0
            while self._waiting and (not group or rows + len(self._waiting[0].rows) <= self._max_rows):
                group.append(self._waiting.popleft())
                rows += len(group[-1].rows)
            self._is_due = bool(self._waiting)
            return group

    def _store(self, encoded: Sequence[tuple[Submission, EncodedRows]]) -> None:
        """Store submissions, and answer them; all of them or none."""
        submissions = [submission for submission, _ in encoded]
        try:
            # With room to load what waits.
            self._warehouse.require_space(more_bytes=self._loader.backlog_bytes)
        except Exception as error:  # noqa: BLE001 - as below
            self._failure.note(error)
            is_told = isinstance(error, PASSING)
            self._answer(submissions, partial(type(error), str(error)) if is_told else _NOT_STORED)
            return
        with self._numbers.lock:
            try:
                place, groups = self._append(encoded)
            except Exception as error:  # noqa: BLE001 - the callers are told, whatever it was
                self._failure.note(error)
                self._answer(submissions, _NOT_STORED)
                return
            self._acknowledge(submissions, groups)
            self._loader.add(place, [group.laid_out_if_many() for group in groups])

    def _append(
        self, encoded: Sequence[tuple[Submission, EncodedRows]]
    ) -> tuple[Place, Sequence[EventGroup]]:
        # Nothing is acknowledged in a file that the next start would not find.
        self._warehouse.require_in_place()
        self._spool.require_in_place()
        groups = [
            EventGroup(submission.project_id, self._numbers.take(len(submission.rows)), submission.rows)
            for submission, _ in encoded
        ]
        rows = (rows for _, rows in encoded)
        payload = encode_groups(
            [(group.project_id, group.first_seq, one) for group, one in zip(groups, rows, strict=True)]
        )
        with self.commit_seconds.time():
            place = self._spool.append(groups[0].first_seq, groups[-1].last_seq, payload)
        return place, groups

    def _acknowledge(self, submissions: Sequence[Submission], groups: Sequence[EventGroup]) -> None:
        for submission, group in zip(submissions, groups, strict=True):
            has_users = have_users(submission.rows)
            self._numbers.note_events(group.project_id, group.last_seq, has_users=has_users)
            self._tell_listeners(group.project_id, group.first_seq, submission.rows)
        self._numbers.acknowledge(groups[-1].last_seq)
        self._answer(submissions)
        self._failure.end()

    def _answer(
        self, submissions: Sequence[Submission], error: Callable[[], Exception] | None = None
    ) -> None:
        with self._changed:
            self._waiting_bytes -= sum(submission.size for submission in submissions)
        resolve(submissions, error)

    def _tell_listeners(self, project_id: str, first_seq: int, rows: Sequence[EventRow]) -> None:
        for listener in self.listeners:
            try:
                listener(project_id, first_seq, rows)
            except Exception:
                logger.exception("a listener failed on events of project %s", project_id)
