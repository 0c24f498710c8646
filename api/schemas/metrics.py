"""Answers about metrics of a project."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from engine.design.metrics import metric
from engine.vocabulary import GoalType


class Metric(BaseModel):
    """A metric of a project, which goals of its experiments can name as their `metric_id`."""

    id: str = Field(examples=["met_v7xk5qmtd4wr3chn6zp2"])
    project_id: str
    name: str = Field(description="Unique in the project.", examples=["Orders"])
    description: str | None
    goal_type: GoalType
    config: dict[str, Any] = Field(
        description="As of a goal, by goal type.", examples=[{"event_name": "purchase"}]
    )
    version: int = Field(description="One more after each change of `goal_type` or `config`.", examples=[1])
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: metric.Metric) -> "Metric":
        """Describe a metric."""
        return cls(**asdict(found))
