"""Days of a service whose clock a test sets: it is killed between writes, and started again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.design.assignment import assign
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import local_day
from pipeline.encryption_key import open_cipher
from pipeline.jobs.jobs import JOBS
from pipeline.jobs.scheduler import Scheduler
from pipeline.webhooks.webhook_requests import draft_webhook
from tests.builders import STARTED
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, Endpoint
from tests.pipeline.working_store import (
    WorkingStore,
    a_purchase,
    a_working_store,
    an_event,
    an_exposure,
    now_of,
)

BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"
# In UTC: between, after Tokyo's midnight, and after Berlin's.
TIMES = (time(6), time(15, 1), time(23, 1))
DAY = timedelta(days=1)
RETENTION_DAYS = 2
PERIODIC = (
    "rebuild_after_midnight",
    "remove_events_beyond_retention",
    "write_snapshots",
    "move_bandit_weights",
)


class Killed(SystemExit):
    """The end of the process, which no job takes for a failure."""


@dataclass
class Kill:
    """A kill before or after one of the next writes of the catalog or of the warehouse."""

    writes_left: int | None = None

    def pass_by(self) -> None:
        if self.writes_left is None:
            return
        self.writes_left -= 1
        if self.writes_left == 0:
            self.writes_left = None
            raise Killed

    def install(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        original = getattr(owner, name)

        @contextmanager
        def write(of: Any) -> Iterator[Any]:
            self.pass_by()
            with original(of) as opened:
                yield opened
            self.pass_by()

        monkeypatch.setattr(owner, name, write)


@dataclass
class DaysOfService:
    """Projects in two time zones, one of which is broken for some days, and what was done for them."""

    folder: Path
    endpoint: Endpoint
    rng: np.random.Generator
    kill: Kill
    now: datetime = STARTED
    projects: list[Project] = field(default_factory=list)
    bandits: list[Experiment] = field(default_factory=list)
    # What the catalog says was done: by job and project, the periods in their order.
    done: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    # Those in which each job could have been done, as no kill was in the way.
    owed: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    kills: int = 0
    failing: set[str] = field(default_factory=set)

    @contextmanager
    def served(self) -> Iterator[WorkingStore]:
        day = int(DAY / timedelta(seconds=1))
        settings = {"snapshot_seconds": day, "bandit_seconds": day, "webhook_networks": LOOPBACK}
        with a_working_store(self.folder, clock=lambda: self.now, **settings) as store:
            yield store

    def set_up(self) -> None:
        with self.served() as store:
            for zone in (BERLIN, TOKYO, BERLIN):
                settings = {"retention_days": RETENTION_DAYS}
                project = store.add_project(reporting_timezone=zone, created_at=self.now, settings=settings)
                bandit = store.add_experiment(project, traffic_strategy="bandit", started_at=self.now)
                webhook, _ = draft_webhook(
                    project.id,
                    {"url": self.endpoint.url, "events": ["experiment.decision"]},
                    store.settings.reachable_networks,
                    open_cipher(store.settings),
                    now=self.now,
                )
                store.catalog.webhooks.create(webhook, actor="test")
                self.projects.append(project)
                self.bandits.append(bandit)

    @property
    def broken(self) -> Project:
        return self.projects[-1]

    def install_failures(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        """Let the work of a project fail while it is one of `failing`."""
        original = getattr(owner, name)

        def work(of: Any, project_id: str, *arguments: Any, **options: Any) -> Any:
            if project_id in self.failing:
                raise OSError("a defect")
            return original(of, project_id, *arguments, **options)

        monkeypatch.setattr(owner, name, work)

    def visit(self, store: WorkingStore, count: int) -> None:
        """Let visitors come to every project, of whose variants the second is better."""
        minute = (self.now - STARTED) / timedelta(minutes=1)
        for project, begun in zip(self.projects, self.bandits, strict=True):
            bandit, rows = now_of(store, begun), []
            for name in (f"{self.now:%d %H} {number}" for number in range(count)):
                arm = [one.id for one in bandit.variants].index(variant_id(bandit, name))
                rows.append(an_exposure(bandit, arm, name, minute=minute))
                if self.rng.random() < (0.1, 0.4)[arm]:
                    rows.append(a_purchase(name, minute=minute))
            # Of nobody in an experiment, whose events are kept no longer than the project wants.
            store.write(project, *rows, an_event("pageview", f"passer-by {self.now}", minute=minute))

    def poll(self, store: WorkingStore) -> None:
        """Let each job of the service look once for what is due."""
        scheduler = Scheduler(store)
        for job in JOBS:
            scheduler.run_now(job)
        assert set(scheduler.failing) <= (set(PERIODIC) if self.failing else set())

    def live_through(self, day: date, *, visitors: int) -> None:
        """Serve at each of the times of a day; a killed service is started again at the next of them."""
        for at in TIMES:
            self.now = datetime.combine(day, at, UTC)
            self.kill.writes_left = None
            with self.served() as store:
                if at == TIMES[0]:
                    self.visit(store, visitors)
                # The first projects' work has some dozens of writes.
                self.kill.writes_left = int(self.rng.integers(1, 120)) if self.rng.random() < 0.5 else None
                try:
                    self.poll(store)
                    self._note_owed()
                except Killed:
                    self.kills += 1
                self.kill.writes_left = None
                self.read_records(store)

    def _note_owed(self) -> None:
        for project in self.projects:
            day = local_day(self.now, project.timezone).isoformat()
            slot = datetime.combine(self.now.date(), time(), UTC).isoformat()
            for job, period in zip(PERIODIC, (day, day, slot, slot), strict=True):
                if project.id not in self.failing:
                    self.owed.setdefault((job, project.id), set()).add(period)

    def read_records(self, store: WorkingStore) -> None:
        for job in PERIODIC:
            for project_id, record in store.catalog.job_records.of(job).items():
                periods = self.done.setdefault((job, project_id), [])
                if record.period is not None and periods[-1:] != [record.period]:
                    periods.append(record.period)


def variant_id(experiment: Experiment, visitor: str) -> str:
    variant = assign(experiment, visitor).variant
    assert variant is not None
    return variant.id
