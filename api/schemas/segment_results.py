"""Answers about segments: all segments of an experiment, analyzed together."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.goal_results import Interval, mean_of, relative
from api.schemas.percents import in_percents, percent
from api.schemas.results import ExperimentHead
from engine.analysis.results import segment_report as judged
from engine.analysis.results.segment_report import SegmentReport, SegmentStatus
from engine.vocabulary import GoalType, MetricUnit


class SegmentArm(BaseModel):
    """Results of a variant in a segment."""

    variant_id: str
    variant_name: str
    visitors: int
    conversions: int
    conversion_rate: float = Field(description="Percent of visitors.")
    revenue_cents: int
    revenue_per_visitor_cents: float
    mean: float | None = Field(
        description="Mean per visitor of the goal's `measure`, for `retained` the percent of visitors whose "
        "days are over; null for `converted` and for revenue."
    )


class SegmentVariant(SegmentArm):
    """Results of a variant in a segment, compared with the control there."""

    improvement: float | None = Field(description="Percent over the control, as observed.")
    rest_improvement: float | None = Field(
        description="Percent over the control among all other visitors, as observed."
    )
    shrunk_improvement: float | None = Field(
        description="Improvement after partial pooling with the other values of the dimension, in percent."
    )
    shrunk_interval: Interval | None = Field(
        description="Credible interval of shrunk_improvement, in percent."
    )
    chance_to_beat: float | None = Field(
        description="Probability to beat the control, in percent; goes with shrunk_improvement."
    )
    adjusted_p_value: float | None = Field(
        description="P-value of the effect in this segment, adjusted for all comparisons (FDR)."
    )
    adjusted_p_value_vs_rest: float | None = Field(
        description="P-value of the difference from the effect among all other visitors, adjusted likewise."
    )
    differs_from_rest: bool | None = Field(
        description="Whether the difference from other visitors is significant; null where not testable."
    )
    status: SegmentStatus = Field(
        description="`better` or `worse` than the control in the direction of the goal; `differs` where only "
        "the difference from other visitors is significant."
    )
    reason: str | None = Field(description="Why the first missing number is missing.")


class SegmentResult(BaseModel):
    """Results of a segment on a goal."""

    dimension: str = Field(description="Dimension, such as `country` or `custom:plan`.")
    value: str
    control: SegmentArm | None
    variants: list[SegmentVariant] = Field(description="Variants other than the control.")


class GoalSegments(BaseModel):
    """Results of every segment on a goal."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    is_primary: bool
    summary: str = Field(description="Where the effect differs between segments, in words.")
    segments: list[SegmentResult]


class SegmentSplit(BaseModel):
    """Sample ratio check of a segment."""

    dimension: str
    value: str
    visitors: dict[str, int] = Field(description="Visitors by variant id.")
    p_value: float | None = Field(description="Chi-square test; null with too few visitors.")
    always_valid_p_value: float = Field(description="P-value that is valid at every look.")
    adjusted_p_value: float | None = Field(
        description="P-value of the chi-square test, adjusted for all segments (Holm)."
    )
    adjusted_always_valid_p_value: float
    is_alarm: bool = Field(description="Whether adjusted_always_valid_p_value is below 0.001.")


class LeftOut(BaseModel):
    """A dimension that is not analyzed."""

    dimension: str = Field(description="Dimension, or `smallest` for the segments with the fewest visitors.")
    reason: str


class Segments(BaseModel):
    """Exploratory results of all segments: a basis for further tests, not for a decision."""

    experiment: ExperimentHead
    exploratory: Literal[True] = True
    false_discovery_rate: float = Field(
        description="Expected percent of false findings among the significant ones."
    )
    comparisons: int = Field(description="Number of comparisons with enough data.")
    goals: list[GoalSegments]
    sample_ratios: list[SegmentSplit] = Field(
        description="Sample ratio checks; empty where weights changed, as for bandits."
    )
    sample_ratio_alarms: list[SegmentSplit] = Field(
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
        segments=[_segment(segment, goal.unit) for segment in found.segments],
    )


def _segment(found: judged.SegmentResult, unit: MetricUnit) -> SegmentResult:
    control = found.control
    return SegmentResult(
        dimension=found.dimension,
        value=found.value,
        control=None if control is None else SegmentArm(**_numbers(control, unit)),
        variants=[_variant(variant, unit) for variant in found.variants],
    )


def _variant(found: judged.SegmentVariant, unit: MetricUnit) -> SegmentVariant:
    interval = relative(found.shrunk_interval)
    return SegmentVariant(**{**_numbers(found, unit), "shrunk_interval": interval})


def _numbers(found: judged.SegmentArm, unit: MetricUnit) -> dict[str, Any]:
    return {**in_percents(found), "mean": mean_of(found.mean, unit)}


def _left_out(reasons: Mapping[str, str]) -> list[LeftOut]:
    return [LeftOut(dimension=dimension, reason=reason) for dimension, reason in reasons.items()]
