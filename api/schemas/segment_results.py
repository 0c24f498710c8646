"""Every segment of an experiment, judged together: on the wire."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.goal_results import Interval, relative
from api.schemas.percents import in_percents, percent
from api.schemas.results import ExperimentHead
from engine.analysis.results import segment_report as judged
from engine.analysis.results.segment_report import SegmentReport, SegmentStatus
from engine.design.vocabulary import GoalType


class SegmentArm(BaseModel):
    """What the visitors of one variant in a segment did."""

    variant_id: str
    variant_name: str
    visitors: int
    conversions: int
    conversion_rate: float = Field(description="Percent of visitors.")
    revenue_cents: int
    revenue_per_visitor_cents: float


class SegmentVariant(SegmentArm):
    """The same of a variant, against the control's visitors in the segment."""

    improvement: float | None = Field(description="Percent over the control, as observed.")
    rest_improvement: float | None = Field(description="The same of everybody who is not in the segment.")
    shrunk_improvement: float | None = Field(
        description="What to believe of the improvement given the other values of the dimension, in percent."
    )
    shrunk_interval: Interval | None = Field(description="Percents, as shrunk_improvement.")
    chance_to_beat: float | None = Field(description="Percent; goes with shrunk_improvement.")
    adjusted_p_value: float | None = Field(
        description="That of an effect in this segment, adjusted for all comparisons (false discovery rate)."
    )
    adjusted_p_value_vs_rest: float | None = Field(
        description="That of another effect than in the rest of the visitors, adjusted likewise."
    )
    differs_from_rest: bool | None = Field(
        description="Whether that is called; null where it can't be tested."
    )
    status: SegmentStatus = Field(
        description="`better` and `worse` than the control in the direction that the goal wants; `differs` "
        "where only the difference from the rest is called."
    )
    reason: str | None = Field(description="What is in the way of the first number that is missing.")


class SegmentResult(BaseModel):
    """One segment on one goal."""

    dimension: str = Field(description="Such as `country`, or `custom:plan`.")
    value: str
    control: SegmentArm | None
    variants: list[SegmentVariant] = Field(description="All but the control.")


class GoalSegments(BaseModel):
    """Every segment on one goal."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    is_primary: bool
    summary: str = Field(description="Whether the effect differs anywhere, and where, in words.")
    segments: list[SegmentResult]


class SegmentSplit(BaseModel):
    """How the visitors of a segment fit the weights of the variants."""

    dimension: str
    value: str
    visitors: dict[str, int] = Field(description="By variant id.")
    p_value: float | None = Field(description="Chi-square test; null with too few visitors.")
    always_valid_p_value: float = Field(description="Holds however often one looks.")
    adjusted_p_value: float | None = Field(description="Adjusted for all segments (Holm).")
    adjusted_always_valid_p_value: float
    is_alarm: bool = Field(description="Whether the last of them is below 0.001.")


class LeftOut(BaseModel):
    """What was seen but is not judged."""

    dimension: str = Field(description="Or `smallest`: the segments with the fewest visitors.")
    reason: str


class Segments(BaseModel):
    """All segments, each read with the others in mind: a hint what to test next, and no verdict."""

    experiment: ExperimentHead
    exploratory: Literal[True] = True
    false_discovery_rate: float = Field(description="Percent of what is called that is false, on average.")
    comparisons: int = Field(description="How many had enough data to be made.")
    goals: list[GoalSegments]
    sample_ratios: list[SegmentSplit] = Field(description="Empty where weights moved, as a bandit's do.")
    sample_ratio_alarms: list[SegmentSplit] = Field(description="Of all dimensions, whichever is asked for.")
    left_out: list[LeftOut]
    as_of: datetime | None = Field(description="Events received until then are counted; null without any.")

    @classmethod
    def of(cls, report: SegmentReport) -> "Segments":
        """Describe a report."""
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            false_discovery_rate=percent(report.false_discovery_rate),
            comparisons=report.comparisons,
            goals=[_goal(goal) for goal in report.goals],
            sample_ratios=[SegmentSplit(**asdict(split)) for split in report.splits],
            sample_ratio_alarms=[SegmentSplit(**asdict(split)) for split in report.split_alarms],
            left_out=_left_out(report.left_out),
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
        segments=[_segment(segment) for segment in found.segments],
    )


def _segment(found: judged.SegmentResult) -> SegmentResult:
    return SegmentResult(
        dimension=found.dimension,
        value=found.value,
        control=None if found.control is None else SegmentArm(**in_percents(found.control)),
        variants=[_variant(variant) for variant in found.variants],
    )


def _variant(found: judged.SegmentVariant) -> SegmentVariant:
    return SegmentVariant(**{**in_percents(found), "shrunk_interval": relative(found.shrunk_interval)})


def _left_out(reasons: Mapping[str, str]) -> list[LeftOut]:
    return [LeftOut(dimension=dimension, reason=reason) for dimension, reason in reasons.items()]
