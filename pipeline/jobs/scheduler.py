"""Scheduler of jobs: at their intervals, each in a thread of its own and never twice at once."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from pipeline.jobs.clock_watch import ClockWatch
from pipeline.jobs.jobs import JOBS, Job
from pipeline.services import PipelineServices

logger = logging.getLogger(__name__)


_WATCH_SECONDS: Final = 5.0
FIRST_RUN_WITHIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class JobRun:
    """Result of a job's last run; `failures` counts the failed runs in a row, this one included."""

    ended_at: datetime
    failures: int
    error: str | None


class Scheduler:
    """Runner of jobs in the background, from `start` to `stop`."""

    def __init__(self, services: PipelineServices, jobs: Sequence[Job] = JOBS) -> None:
        """Schedule `jobs`; none runs before `start`."""
        self._services = services
        self._runs: dict[str, JobRun] = {}
        self._watch = ClockWatch(services.clock)
        self._is_stopping = threading.Event()
        # Not a job, whose next time would depend on the clock.
        self._watcher = threading.Thread(target=self._follow_clock_until_stopped, name="clock", daemon=True)
        # A thread for each job, so that a long one delays no other.
        threads = ThreadPoolExecutor(max(1, len(jobs)))
        self._scheduler = BackgroundScheduler(timezone=UTC, executors={"default": threads})
        for job in jobs:
            # Zero seconds turn a job off.
            seconds = job.seconds(services.settings)
            if not seconds:
                continue
            # A late run still takes place, and several late ones become one.
            self._scheduler.add_job(
                self.run_now,
                # By its name it would be looked for among all installed packages.
                IntervalTrigger(seconds=seconds, timezone=UTC),
                # However short the service's life, each job runs in it.
                next_run_time=datetime.now(UTC) + min(timedelta(seconds=seconds), FIRST_RUN_WITHIN),
                args=[job],
                id=job.name,
                # The name in log lines about skipped runs.
                name=job.name,
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,
            )

    def start(self) -> None:
        """Start; the first run of each job is one interval later, and within FIRST_RUN_WITHIN."""
        self._scheduler.start()
        self._watcher.start()

    def stop(self) -> None:
        """Start no further run, and wait for the running ones."""
        self._is_stopping.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def follow_clock(self) -> None:
        """Log a clock that was set, and run every job at once where it was set back.

        Their next times would be as far ahead as the clock was.
        """
        jump = self._watch.jump()
        if not jump:
            return
        logger.warning("the clock was set %s by %.0f seconds", "ahead" if jump > 0 else "back", abs(jump))
        if jump < 0:
            for scheduled in self._scheduler.get_jobs():
                scheduled.modify(next_run_time=datetime.now(UTC))

    def _follow_clock_until_stopped(self) -> None:
        while not self._is_stopping.wait(_WATCH_SECONDS):
            self.follow_clock()

    def run_now(self, job: Job) -> None:
        """Run a job once, in this thread, and log its failure."""
        try:
            still_waits = job.run(self._services)
        except Exception as error:
            before = self._runs.get(job.name)
            failures = 1 + (before.failures if before else 0)
            self._runs[job.name] = JobRun(self._services.clock(), failures, repr(error))
            in_a_row = f", {failures} times in a row" if failures > 1 else ""
            logger.exception("job %s failed%s; it is tried again", job.name, in_a_row)
        else:
            # A failure is shown until what failed has succeeded.
            if not still_waits:
                self._runs[job.name] = JobRun(self._services.clock(), 0, None)

    @property
    def last_runs(self) -> Mapping[str, JobRun]:
        """Last run of each job since the start, by name."""
        return dict(self._runs)

    @property
    def failing(self) -> list[str]:
        """Names of the jobs whose last run failed."""
        return sorted(name for name, run in self.last_runs.items() if run.failures)
