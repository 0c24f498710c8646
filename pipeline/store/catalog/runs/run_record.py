"""Record of a run: a rollup, rebuild, snapshot or import of a project."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pipeline.store.catalog.ids import new_id

Kind = Literal["rollup", "rebuild", "snapshot", "import"]
Trigger = Literal["schedule", "api", "command_line"]
Status = Literal["queued", "running", "done", "drift", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of a run: events and visitors counted, experiments that had drifted, and facts of its kind."""

    events: int | None = None
    visitors: int | None = None
    drift: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a project; times are aware. `drift` has the ids of experiments that had drifted."""

    id: str = field(default_factory=lambda: new_id("run"))
    project_id: str
    kind: Kind
    trigger: Trigger
    status: Status = "queued"
    run_key: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempts: int = 0
    events: int | None = None
    visitors: int | None = None
    drift: tuple[str, ...] = ()
    error: str | None = None
    progress: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the run is to come."""
        return self.status not in {"queued", "running"}

    def started(self, *, now: datetime) -> "Run":
        """Return the run as it is carried out, once more where it was interrupted."""
        return replace(self, status="running", started_at=now, attempts=self.attempts + 1)

    def finished(self, found: RunResult, *, now: datetime) -> "Run":
        """Return the run with its result."""
        return replace(
            self,
            status="drift" if found.drift else "done",
            ended_at=now,
            events=found.events,
            visitors=found.visitors,
            drift=found.drift,
            result=found.result,
        )

    def failed(self, error: str, *, now: datetime) -> "Run":
        """Return the run with the sentence that says why it failed."""
        return replace(self, status="failed", ended_at=now, error=error)
