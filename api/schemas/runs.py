"""Answers about runs."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from pipeline.store.catalog.runs import run_record
from pipeline.store.catalog.runs.run_record import Kind, Status, Trigger


class RunDays(BaseModel):
    """Local days of the project, both included."""

    from_: str = Field(alias="from")
    to: str


class Run(BaseModel):
    """A rollup, rebuild, snapshot or import of a project."""

    id: str = Field(examples=["run_q2v7xk5pmt3chn6zd4wr"])
    project_id: str
    kind: Kind = Field(description="What the run does: `rollup`, `rebuild`, `snapshot` or `import`.")
    trigger: Trigger = Field(description="What asked for it: the schedule, the API or a command.")
    status: Status = Field(
        description="`drift` where it was carried out, and results had differed from their events before; "
        "`interrupted` where its process ended and it is not begun again."
    )
    run_key: str | None = Field(
        description="Your key of the run: a second one with it is the same run; null where none was given.",
        examples=["nightly-2026-03-02"],
    )
    days: RunDays | None = Field(description="Days of a rebuild; all while null.")
    source: str | None = Field(
        description="Source or file of an import, or what a command named it.", examples=["orders"]
    )
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    attempts: int = Field(
        description="How often it was begun; more than once after an interruption.", examples=[1]
    )
    events: int | None = Field(description="Events that it counted, copied or imported.", examples=[48210])
    visitors: int | None = Field(
        description="Visitors in the results that it changed, added up.", examples=[12480]
    )
    drift: list[str] = Field(
        description="Ids of the experiments whose results had drifted.",
        examples=[["exp_k3vq7xm2c5tzhn6d4wrp"]],
    )
    error: str | None = Field(
        description="A sentence for people, of a run that failed.", examples=["The source cannot be reached."]
    )
    progress: dict[str, Any] = Field(
        description="Progress of a run that takes long.", examples=[{"day": "2026-03-02"}]
    )
    result: dict[str, Any] = Field(
        description="More facts, by the kind of the run.", examples=[{"nights": 1}]
    )

    @classmethod
    def of(cls, found: run_record.Run) -> "Run":
        """Describe a run."""
        asked = found.parameters
        named = {name: getattr(found, name) for name in cls.model_fields if name not in {"days", "source"}}
        file = asked.get("options", {}).get("file_name")
        source = asked.get("source") or file or asked.get("names")
        return cls(**named, days=asked.get("days"), source=source)
