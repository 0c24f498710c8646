"""When jobs run: at their intervals, in UTC, each in a thread of its own and never twice at once."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from pipeline.jobs.jobs import JOBS, Job
from pipeline.services import PipelineServices

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobRun:
    """How the last run of a job went: when it ended, and how many in a row have failed, it included."""

    ended_at: datetime
    failures: int
    error: str | None


class Scheduler:
    """Runs jobs in the background from `start` to `stop`."""

    def __init__(self, services: PipelineServices, jobs: Sequence[Job] = JOBS) -> None:
        """Plan `jobs`; nothing runs yet."""
        self._services = services
        self._runs: dict[str, JobRun] = {}
        # A thread for each job: one that takes long keeps no other waiting.
        threads = ThreadPoolExecutor(max(1, len(jobs)))
        self._scheduler = BackgroundScheduler(timezone=UTC, executors={"default": threads})
        for job in jobs:
            # Zero seconds turn a job off.
            if not job.seconds(services.settings):
                continue
            # A run that is late still takes place, and several that are late are one.
            self._scheduler.add_job(
                self.run_now,
                "interval",
                args=[job],
                id=job.name,
                # What a log line about a run that is left out calls it.
                name=job.name,
                seconds=job.seconds(services.settings),
                max_instances=1,
                coalesce=True,
                misfire_grace_time=None,
            )

    def start(self) -> None:
        """Begin; the first run of each job is one interval away."""
        self._scheduler.start()

    def stop(self) -> None:
        """Begin nothing new, and wait for what is under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def run_now(self, job: Job) -> None:
        """Run one job once, here; what goes wrong is logged, and ends only this run."""
        try:
            job.run(self._services)
        except Exception as error:
            before = self._runs.get(job.name)
            failures = 1 + (before.failures if before else 0)
            self._runs[job.name] = JobRun(self._services.clock(), failures, repr(error))
            logger.exception("job %s failed, %d times in a row; it is tried again", job.name, failures)
        else:
            self._runs[job.name] = JobRun(self._services.clock(), 0, None)

    @property
    def last_runs(self) -> Mapping[str, JobRun]:
        """The last run of each job that has run since the start, by its name."""
        return dict(self._runs)

    @property
    def failing(self) -> list[str]:
        """The jobs whose last run failed."""
        return sorted(name for name, run in self.last_runs.items() if run.failures)
