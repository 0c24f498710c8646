"""Segment report: numbers, statuses and sentences, with None where there is no number."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from engine.analysis.results.report import Interval
from engine.design.experiment import Experiment, Goal
from engine.shown_result import ShownResult

SegmentStatus = Literal["better", "worse", "differs", "inconclusive", "insufficient_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentArm:
    """Counts of one variant in a segment on one goal; `conversion_rate` is a share.

    `mean` is that of a goal of counts or values, None for other goals.
    """

    variant_id: str
    variant_name: str
    visitors: int
    conversions: int
    conversion_rate: float
    revenue_cents: int
    revenue_per_visitor_cents: float
    mean: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentVariant(SegmentArm):
    """A challenger in a segment against the control in that segment. Shares are 0 to 1.

    `improvement` is observed, `rest_improvement` that of all other visitors. `shrunk_improvement`, with its
    interval, is its posterior mean given the other values of its dimension, and `chance_to_beat` goes
    with that. Both p values are adjusted for every comparison of the report; `adjusted_p_value_vs_rest`
    tests whether the effect differs from the rest, and `differs_from_rest` is the result of that test.
    `reason` explains the first number that is missing.
    """

    improvement: float | None
    rest_improvement: float | None
    shrunk_improvement: float | None
    shrunk_interval: Interval | None
    chance_to_beat: float | None
    adjusted_p_value: float | None
    adjusted_p_value_vs_rest: float | None
    differs_from_rest: bool | None
    status: SegmentStatus
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentResult:
    """One segment on one goal; no control and no challengers before the experiment has a control."""

    dimension: str
    value: str
    control: SegmentArm | None
    variants: tuple[SegmentVariant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSegments:
    """Every segment on one goal, and in a sentence or two whether the effect differs anywhere."""

    goal: Goal
    summary: str
    segments: tuple[SegmentResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSplit:
    """Visitors of a segment by variant id, against the weights; see `check_splits` for the p values."""

    dimension: str
    value: str
    visitors: Mapping[str, int]
    p_value: float | None
    always_valid_p_value: float
    adjusted_p_value: float | None
    adjusted_always_valid_p_value: float
    is_alarm: bool


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
