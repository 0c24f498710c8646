"""Answers about holdouts."""

from dataclasses import asdict
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.experiments import Goal
from engine.design.experiment import Experiment
from engine.design.holdout import percent_of

# `running` while it is in force.
HoldoutStatus = Literal["scheduled", "running", "completed"]


class Holdout(BaseModel):
    """A percent of new visitors who see no test and no rollout, compared with all others."""

    model_config = ConfigDict(populate_by_name=True)

    id: str = Field(examples=["hld_v7xk5qmtd4wr3chn6zp2"])
    project_id: str
    name: str = Field(description="Name of the holdout.", examples=["Spring"])
    status: HoldoutStatus = Field(description="`running` while it is in force.", examples=["running"])
    percent: int = Field(description="Percent of new visitors who are held out.", examples=[5])
    from_: datetime = Field(
        alias="from",
        description="When it begins or began; visitors who were seen before are in neither variant.",
        examples=["2026-03-02T09:30:00Z"],
    )
    to: datetime | None = Field(
        description="When it ends or ended; null for no end.", examples=["2026-09-01T00:00:00Z"]
    )
    group_id: str | None = Field(
        description="Exclusion group that visitors are held out of; null for the whole project.",
        examples=["grp_q7xm2c5tzhn6d4wrpk3v"],
    )
    goals: list[Goal]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: Experiment) -> "Holdout":
        """Describe a holdout."""
        return cls.model_validate(
            {
                **{name: getattr(found, name) for name in ("id", "project_id", "name", "status")},
                "percent": percent_of(found),
                "from": found.started_at or found.scheduled_start_at or found.created_at,
                "to": found.completed_at or found.scheduled_end_at,
                "group_id": found.held_group_id,
                "goals": [asdict(goal) for goal in found.goals],
                "created_at": found.created_at,
                "updated_at": found.updated_at,
            }
        )
