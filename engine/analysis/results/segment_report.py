"""Segment report: numbers, statuses and sentences, with None where there is no number."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from engine.analysis.results.answer_fields import AnswerField, described
from engine.analysis.results.variant_result import Interval
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.shown_result import ShownResult

SegmentStatus = Literal["better", "worse", "differs", "inconclusive", "insufficient_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentArm:
    """Results of a variant in a segment."""

    variant_id: str
    variant_name: str
    visitors: int
    conversions: int
    conversion_rate: Annotated[float, AnswerField("percent", "Percent of visitors.")]
    revenue_cents: int
    revenue_per_visitor_cents: float
    mean: Annotated[
        float | None,
        AnswerField(
            "mean",
            "Mean per visitor of the goal's `measure`, for `retained` the percent of visitors whose days are "
            "over; null for `converted` and for revenue.",
            example=1.4,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentVariant(SegmentArm):
    """Results of a variant in a segment, compared with the control there."""

    improvement: Annotated[float | None, AnswerField("percent", "Percent over the control, as observed.")]
    rest_improvement: Annotated[
        float | None,
        AnswerField(
            "percent", "Percent over the control among all other visitors, as observed.", example=15.2
        ),
    ]
    shrunk_improvement: Annotated[
        float | None,
        AnswerField(
            "percent",
            "Improvement after partial pooling with the other values of the dimension, in percent.",
            example=15.6,
        ),
    ]
    shrunk_interval: Annotated[
        Interval | None, AnswerField("percent", "Credible interval of shrunk_improvement, in percent.")
    ]
    chance_to_beat: Annotated[
        float | None,
        AnswerField("percent", "Probability to beat the control, in percent; goes with shrunk_improvement."),
    ]
    adjusted_p_value: Annotated[
        float | None,
        described("P-value of the effect in this segment, adjusted for all comparisons (FDR).", example=0.55),
    ]
    adjusted_p_value_vs_rest: Annotated[
        float | None,
        described(
            "P-value of the difference from the effect among all other visitors, adjusted likewise.",
            example=0.71,
        ),
    ]
    differs_from_rest: Annotated[
        bool | None,
        described("Whether the difference from other visitors is significant; null where not testable."),
    ]
    status: Annotated[
        SegmentStatus,
        described(
            "`better` or `worse` than the control in the direction of the goal; `differs` where only the "
            "difference from other visitors is significant."
        ),
    ]
    reason: Annotated[
        str | None,
        described("Why the first missing number is missing."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentResult:
    """Results of a segment on a goal."""

    dimension: Annotated[str, described("Dimension, such as `country` or `custom:plan`.")]
    value: str
    control: SegmentArm | None
    variants: Annotated[tuple[SegmentVariant, ...], described("Variants other than the control.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSegments:
    """Every segment on one goal, and in a sentence or two whether the effect differs anywhere."""

    goal: Goal
    summary: str
    segments: tuple[SegmentResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSplit:
    """Sample ratio check of a segment."""

    dimension: str
    value: str
    visitors: Annotated[
        Mapping[str, int],
        described(
            "Visitors by variant id.",
            example={"var_a7hn2qk5vxm3tz6d4wpr": 6120, "var_f3kq7xm2w5c4hn6d2tzp": 6240},
        ),
    ]
    p_value: Annotated[float | None, described("Chi-square test; null with too few visitors.")]
    always_valid_p_value: Annotated[float, described("P-value that is valid at every look.", example=0.48)]
    adjusted_p_value: Annotated[
        float | None,
        described("P-value of the chi-square test, adjusted for all segments (Holm).", example=0.55),
    ]
    adjusted_always_valid_p_value: float
    is_alarm: Annotated[bool, described("Whether adjusted_always_valid_p_value is below 0.001.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SegmentReport(ShownResult):
    """Effects in every segment of an experiment: exploratory, a source of ideas for tests and not a verdict.

    `false_discovery_rate` is the expected share of false positives among significant comparisons;
    `comparisons` is the number of comparisons with enough data. `left_out` has the reason of each dimension,
    or kind of segment, that was not analyzed.
    """

    experiment: Experiment
    false_discovery_rate: float
    comparisons: int
    goals: tuple[GoalSegments, ...]
    splits: tuple[SegmentSplit, ...]
    split_alarms: tuple[SegmentSplit, ...]
    left_out: Mapping[str, str]
    as_of: datetime | None
