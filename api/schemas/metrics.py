"""Answers about metrics of a project."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from engine.design.metrics import metric
from engine.vocabulary import GoalType


class Metric(BaseModel):
    """A metric of a project, which goals of its experiments can name as their `metric_id`."""

    id: str
    project_id: str
    name: str = Field(description="Unique in the project.")
    description: str | None
    goal_type: GoalType
    config: dict[str, Any] = Field(description="As of a goal, by goal type.")
    version: int = Field(description="One more after each change of `goal_type` or `config`.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: metric.Metric) -> "Metric":
        """Describe a metric."""
        return cls(**asdict(found))
