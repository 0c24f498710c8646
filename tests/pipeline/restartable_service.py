"""A service on one folder that can be restarted, and whose clock a test sets."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.jobs.jobs import JOBS
from pipeline.store.event_columns import EventRow
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_working_store

RECORD_LOOKS: Final = next(job for job in JOBS if job.name == "record_due_looks")


@dataclass
class RestartableService:
    """A service on one folder that can be restarted; its clock stands where a test sets it."""

    folder: Path
    now: datetime = STARTED
    store: WorkingStore = field(init=False)
    _open: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        self.store = self._open.enter_context(a_working_store(self.folder, clock=lambda: self.now))

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self._open.close()

    def run_at(self, now: datetime, *rows: EventRow, project: Project) -> None:
        """Receive events, and let the job run."""
        self.now = now
        if rows:
            self.store.write(project, *rows)
        RECORD_LOOKS.run(self.store)

    def current(self, experiment: Experiment) -> Experiment:
        return self.store.catalog.experiments.get(experiment.project_id, experiment.id)

    def report(self, experiment: Experiment, project: Project) -> Report:
        return self.store.results.report(self.current(experiment), project, now=self.now)

    def looks(self, experiment: Experiment) -> tuple[RecordedLook, ...]:
        return self.store.catalog.recorded_looks.of(experiment.id)

    def change(self, experiment: Experiment, transition: Any) -> None:
        decide = partial(transition, now=self.now)
        self.store.catalog.experiments.change(experiment.project_id, experiment.id, decide, actor="test")
