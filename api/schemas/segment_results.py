"""Answers about segments: all segments of an experiment, analyzed together."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.record_answers import Answer, Scale, answer
from api.schemas.results import ExperimentHead
from engine.analysis.results import segment_report as judged
from engine.analysis.results.rounding import round_percent
from engine.analysis.results.segment_report import SegmentReport, SegmentResult, SegmentSplit
from engine.vocabulary import GoalType


class GoalSegments(BaseModel):
    """Results of every segment on a goal."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    is_primary: bool
    summary: str = Field(
        description="Where the effect differs between segments, in words.",
        examples=["The effect does not differ between segments."],
    )
    segments: list[Answer[SegmentResult]]


class LeftOut(BaseModel):
    """A dimension that is not analyzed."""

    dimension: str = Field(
        description="Dimension, or `smallest` for the segments with the fewest visitors.",
        examples=["smallest"],
    )
    reason: str


class Segments(BaseModel):
    """Exploratory results of all segments: a basis for further tests, not for a decision."""

    experiment: ExperimentHead
    exploratory: Literal[True] = True
    false_discovery_rate: float = Field(
        description="Expected percent of false findings among the significant ones.", examples=[5.0]
    )
    comparisons: int = Field(description="Number of comparisons with enough data.", examples=[24])
    goals: list[GoalSegments]
    sample_ratios: list[Answer[SegmentSplit]] = Field(
        description="Sample ratio checks; empty where weights changed, as for bandits."
    )
    sample_ratio_alarms: list[Answer[SegmentSplit]] = Field(
        description="Alarms of all dimensions, whichever is requested."
    )
    left_out: list[LeftOut]
    as_of: datetime | None = Field(
        description="Time up to which received events are counted; null without events."
    )

    @classmethod
    def of(cls, report: SegmentReport) -> "Segments":
        """Describe a report."""
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            false_discovery_rate=round_percent(report.false_discovery_rate),
            comparisons=report.comparisons,
            goals=[_goal(goal) for goal in report.goals],
            sample_ratios=[answer(split) for split in report.splits],
            sample_ratio_alarms=[answer(split) for split in report.split_alarms],
            left_out=[
                LeftOut(dimension=dimension, reason=reason) for dimension, reason in report.left_out.items()
            ],
            as_of=report.as_of,
        )


def _goal(found: judged.GoalSegments) -> GoalSegments:
    goal = found.goal
    return GoalSegments(
        goal_id=goal.id,
        goal_name=goal.name,
        goal_type=goal.goal_type,
        is_primary=goal.is_primary,
        summary=found.summary,
        segments=[answer(segment, Scale(goal.unit)) for segment in found.segments],
    )
