"""Runner: carries out runs of the API, of the schedule and of commands, and records each."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pipeline.runs.project_turns import ProjectTurns
from pipeline.runs.run_ends import (
    NO_FAILURES,
    STOPPED,
    Ended,
    RunStoppedError,
    as_exception,
    save_end,
    sentence_of,
)
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogBusyError, NotFoundError
from pipeline.store.catalog.runs.run_record import Kind, Run, RunResult

logger = logging.getLogger(__name__)

# Runs of different projects at once; rollups wait for each other besides.
WORKERS: Final = 4
# Progress is saved once in so many seconds at most.
PROGRESS_SECONDS: Final = 1.0

ReportProgress = Callable[[Mapping[str, Any]], None]
Work = Callable[[Run, ReportProgress], RunResult]


class Runner:
    """Runner of projects' runs by the `work` of each kind; all methods are thread-safe.

    Runs of one project never overlap: queued ones follow each other, oldest first. Projects take turns, a run
    each, so that a long queue holds up no other project.
    """

    def __init__(self, catalog: Catalog, work: Mapping[Kind, Work], *, clock: Callable[[], datetime]) -> None:
        """Begin nothing yet; `clock` gives the times of runs."""
        self._catalog = catalog
        self._work = dict(work)
        self._after: dict[Kind, Callable[[Run], None]] = {}
        self._clock = clock
        self._turns = ProjectTurns(self.wake)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="runs")
        self._stopping = threading.Event()
        # Projects that wait for a worker, each once however often it was woken.
        self._woken: set[str] = set()
        self._waking = threading.Lock()

    def add_work(self, kind: Kind, work: Work, after: Callable[[Run], None] = lambda _run: None) -> None:
        """Add the work of a kind of runs, before the first of them.

        `after` gets each run once its end is recorded, or its project deleted.
        """
        self._work[kind] = work
        self._after[kind] = after

    def wake_all(self) -> None:
        """Carry out all queued runs in the background."""
        for project_id in self._catalog.runs.projects_with_queued():
            self.wake(project_id)

    def wake(self, project_id: str) -> None:
        """Carry out a project's queued runs in the background, after the one that is under way."""
        with self._waking:
            if not self._stopping.is_set() and project_id not in self._woken:
                self._workers.submit(self._take_turn, project_id)
                self._woken.add(project_id)

    def carry_out(self, run: Run, work: Work | None = None) -> Ended:
        """Record a new run and carry it out in this thread, after the one of its project under way.

        It does `work`, or that of its kind. NotFoundError for an unknown project.
        """
        with self._turns.wait(run.project_id):
            # Never as queued, or what a kill leaves would be begun besides the next one of the schedule.
            return self._carry_out(self._catalog.runs.add(run.started(now=self._clock())), work)

    def refresh(self, project_id: str) -> None:
        """Count a project's new events as scheduled, unless a run of it is under way.

        A run without news is not recorded, and neither is a failure that the last one had, too. Raises the
        error of a failed one.
        """
        with self._turns.attempt(project_id) as is_free:
            if not is_free:
                return
            now = self._clock()
            run = Run(project_id=project_id, kind="rollup", trigger="schedule", created_at=now)
            ended = self._attempt(run.started(now=now), self._work[run.kind], lambda _progress: None)
            if self._is_news(ended.run):
                self._catalog.runs.add(ended.run)
        if ended.error is not None:
            raise ended.error

    def stop(self) -> None:
        """Begin no other run; queued ones stay for the next start."""
        with self._waking:
            self._stopping.set()

    def close(self) -> None:
        """Begin no other run, and wait for those under way."""
        self.stop()
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _take_turn(self, project_id: str) -> None:
        """Carry out one run, and queue the project behind the others for its next."""
        with self._waking:
            self._woken.discard(project_id)
        try:
            if self._carry_out_next(project_id):
                self.wake(project_id)
        except NotFoundError:
            logger.info("project %s was deleted before its runs had ended", project_id)
        except Exception:
            logger.exception("runs of project %s could not be recorded; they are tried again", project_id)

    def _carry_out_next(self, project_id: str) -> bool:
        """Carry out the oldest queued run; False where there is none, or another one is under way."""
        with self._turns.attempt(project_id) as is_free:
            run = self._catalog.runs.next_queued(project_id) if is_free else None
            if run is None or self._stopping.is_set():
                return False
            try:
                ended = self._carry_out(self._catalog.runs.save(run.started(now=self._clock())))
            except NotFoundError:
                self._call_after(run)
                raise
        if ended.error is not None and not isinstance(ended.error, STOPPED):
            logger.error("run %s (%s) failed: %s", run.id, run.kind, ended.run.error, exc_info=ended.error)
        return True

    def _carry_out(self, running: Run, work: Work | None = None) -> Ended:
        saved_at = -PROGRESS_SECONDS

        def report(progress: Mapping[str, Any]) -> None:
            nonlocal saved_at
            if self._stopping.is_set():
                raise RunStoppedError
            if time.monotonic() >= saved_at + PROGRESS_SECONDS:
                saved_at = time.monotonic()
                with suppress(CatalogBusyError):
                    self._catalog.runs.save(replace(running, progress=progress))

        ended = self._attempt(running, work or self._work[running.kind], report)
        # What a stop interrupts goes on, or is marked, at the next start.
        is_stopped = isinstance(ended.error, STOPPED)
        if not is_stopped and (ended.error is None or not self._stopping.is_set()):
            save_end(self._catalog, ended.run, self._stopping)
            self._call_after(ended.run)
        return ended

    def _call_after(self, ended: Run) -> None:
        """Call what follows a run of its kind; a failure of it is logged, as the run has ended."""
        try:
            if after := self._after.get(ended.kind):
                after(ended)
        except Exception:
            logger.exception("files of run %s (%s) could not be removed", ended.id, ended.kind)

    def _attempt(self, running: Run, work: Work, report: ReportProgress) -> Ended:
        """Do the work of a run; its last progress stays in its record."""
        noted: dict[str, Any] = {}

        def note(progress: Mapping[str, Any]) -> None:
            noted.update(progress)
            report(dict(noted))

        try:
            found = work(running, note)
        except NO_FAILURES:
            raise
        except BaseException as raised:  # noqa: BLE001 - recorded, and logged or raised by the callers
            error = as_exception(raised)
            ended = running.failed(sentence_of(error), now=self._clock())
            return Ended(replace(ended, progress=noted), error)
        return Ended(replace(running.finished(found, now=self._clock()), progress=noted), None)

    def _is_news(self, run: Run) -> bool:
        if run.status != "failed":
            return bool(run.events or run.result.get("recounted"))
        before = self._catalog.runs.page(run.project_id, kind=run.kind, per_page=1).items
        return not before or before[0].error != run.error
