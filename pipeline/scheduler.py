"""When jobs run: at their intervals, in UTC, each in a thread of its own and never twice at once."""

import logging
from collections.abc import Sequence
from datetime import UTC

from apscheduler.schedulers.background import BackgroundScheduler

from pipeline.jobs import JOBS, Job, Workplace
from pipeline.settings import Settings

logger = logging.getLogger(__name__)


class Scheduler:
    """Runs jobs in the background from `start` to `stop`."""

    def __init__(self, workplace: Workplace, settings: Settings, jobs: Sequence[Job] = JOBS) -> None:
        """Plan `jobs`; nothing runs yet."""
        self._workplace = workplace
        self._scheduler = BackgroundScheduler(timezone=UTC)
        for job in jobs:
            # A run that is late still takes place, and several that are late are one.
            self._scheduler.add_job(
                self.run_now,
                "interval",
                args=[job],
                id=job.name,
                seconds=job.seconds(settings),
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
            job.run(self._workplace)
        except Exception:
            logger.exception("job %s failed", job.name)
