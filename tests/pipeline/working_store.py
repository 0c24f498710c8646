"""A whole store in a folder, and events written by hand."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.analysis.evidence.evidence import Evidence
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.events.hashing import hash64
from pipeline.results.filters import SegmentFilters
from pipeline.services import PipelineServices, open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events
from tests.builders import NOW, STARTED, a_project, an_experiment

_numbers = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingStore(PipelineServices):
    """Everything that works on one folder, and short ways to fill it."""

    def add_project(self, **overrides: Any) -> Project:
        account, *_ = self.catalog.accounts.create(
            name="Shop", email=f"{new_id('m')}@x.example", plan="scale"
        )
        project = a_project(id=new_id("prj"), account_id=account.id, sdk_key=new_id("pk"), **overrides)
        return self.catalog.projects.create(project, actor="test")

    def add_experiment(self, project: Project, **overrides: Any) -> Experiment:
        fields = {"id": new_id("exp"), "status": "running", **overrides}
        experiment = an_experiment(project_id=project.id, **{"test_key": fields["id"], **fields})
        return self.catalog.experiments.create(project.id, lambda _: experiment, actor="test")

    def change(self, experiment: Experiment, **changes: Any) -> Experiment:
        def decide(current: Experiment) -> Experiment:
            return replace(current, **changes)

        return self.catalog.experiments.change(experiment.project_id, experiment.id, decide, actor="test")

    def write(self, project: Project, *rows: EventRow) -> None:
        self.ingest.write_now(project.id, events.to_batch(rows))

    def observe(
        self,
        experiment: Experiment,
        project: Project,
        filters: Mapping[str, str] = MappingProxyType({}),
        *,
        now: datetime = NOW,
    ) -> Evidence:
        """Read the evidence of visitors who match the query parameters `filters`."""
        return self.results.evidence(experiment, project, SegmentFilters.from_query(filters), now=now)


@contextmanager
def a_working_store(
    folder: Path, *, clock: Callable[[], datetime] = lambda: NOW, **settings: Any
) -> Iterator[WorkingStore]:
    chosen = Settings(data_dir=folder, **{"fresh_read_seconds": 60, **settings})
    with open_pipeline(chosen, clock=clock) as services:
        yield WorkingStore(**{field.name: getattr(services, field.name) for field in fields(services)})


def an_event(kind: str, visitor: str | None = "v1", *, minute: float = 0, **overrides: Any) -> EventRow:
    """Build an event that happened, and arrived, some minutes after the experiments started."""
    at = epoch_microseconds(STARTED + timedelta(minutes=minute))
    person = visitor if visitor is not None else overrides["user_id"]
    fields: dict[str, Any] = {
        "event_id": f"e{next(_numbers)}",
        "received_at": at,
        "occurred_at": at,
        **overrides,
    }
    for name in ("event", "user", "transaction"):
        if fields.get(f"{name}_id"):
            fields[f"{name}_key"] = hash64(fields[f"{name}_id"])
    return EventRow(type=kind, visitor_id=visitor, visitor_key=hash64(person), **fields)


def an_exposure(experiment: Experiment, variant: int = 0, visitor: str = "v1", **overrides: Any) -> EventRow:
    """Build an exposure to one of the experiment's variants, by its position."""
    shown = experiment.variants[variant].id
    return an_event("exposure", visitor, experiment_id=experiment.id, variant_id=shown, **overrides)


def a_purchase(visitor: str | None = "v1", *, cents: int | None = 1000, **overrides: Any) -> EventRow:
    """Build a conversion named purchase, worth 10 dollars."""
    fields = {"event_name": "purchase", "revenue_cents": cents, "currency": "USD", **overrides}
    return an_event("conversion", visitor, **fields)


def now_of(store: WorkingStore, experiment: Experiment) -> Experiment:
    return store.catalog.experiments.get(experiment.project_id, experiment.id)
