"""Answers about verdicts: many experiments at once, as last counted."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.schemas.record_answers import Answer, answer
from engine.analysis.results.kept_verdict import ExperimentChange, KeptVerdict
from engine.vocabulary import Status
from pipeline.store.catalog.experiment_listings import ListedVerdict


class ExperimentVerdict(BaseModel):
    """An experiment with the verdict on its data as last counted, and what has changed lately."""

    id: str
    project_id: str
    name: str
    status: Status
    primary_goal: str | None = Field(description="Name of the primary goal.", examples=["Order placed"])
    owner: str | None = Field(
        description="Id of the member who answers for it: the first who is assigned.",
        examples=["mem_c5hn2qk7vxm3tz6d4wpr"],
    )
    tags: list[str] = Field(
        description="Words to find it by, such as a team or a page.", examples=[["checkout"]]
    )
    scheduled_start_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None = Field(description="Time of the end, in UTC; null before it.")
    conclusion: dict[str, Any] | None = Field(
        description="What was decided; null before.",
        examples=[{"decision": "keep_control", "note": "No gain that pays for it."}],
    )
    verdict: Answer[KeptVerdict] | None = Field(description="Null before the first count.")
    changes: list[Answer[ExperimentChange]] = Field(
        description="Since the time that was asked for, newest first."
    )

    @classmethod
    def of(cls, found: ListedVerdict, changes: Sequence[ExperimentChange]) -> "ExperimentVerdict":
        """Describe an experiment with its verdict."""
        one = found.experiment
        return cls(
            id=one.id,
            project_id=one.project_id,
            name=one.name,
            status=one.status,
            primary_goal=next((goal.name for goal in one.goals if goal.is_primary), None),
            owner=next(iter(one.assigned_user_ids), None),
            tags=list(one.tags),
            scheduled_start_at=one.scheduled_start_at,
            started_at=one.started_at,
            completed_at=one.completed_at,
            conclusion=one.conclusion,
            verdict=answer(found.kept),
            changes=[answer(change) for change in changes],
        )
