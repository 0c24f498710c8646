"""Report of an experiment: summaries, decisions, days, plan and health, beside the results of variants.

Shares, minor units of money and unrounded numbers. Descriptions are those of the API's answers, which have
percents in the place of shares, and null in that of None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.results.answer_fields import (
    NOT_ANSWERED,
    PERCENT,
    PROGRESS,
    SCORE,
    AnswerField,
    described,
)
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.variant_result import VariantResult, VariantStatus
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.shown_result import ShownResult
from engine.vocabulary import GoalType

Recommendation = Literal["ship", "rollback", "keep_running", "review", "insufficient_data", "fix_data"]
Reason = Literal[
    "no_difference",
    "undecided",
    "guardrail_broken",
    "guardrail_unknown",
    "guardrail_unjudged",
    "guardrail_inconclusive",
    "goal_harmed",
    "measured_differs",
    "one_visitor",
    "ended_early",
    "exploratory",
]
# Reasons by which what the data show is not to be relied on, and not kept.
DOUBTFUL: Final[frozenset[Reason]] = frozenset({"measured_differs", "one_visitor"})
Tone = Literal["positive", "negative", "neutral", "warning"]
CheckStatus = Literal["ok", "warning", "alarm", "not_applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSummary:
    """Summary of a goal over all variants."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    currency: str
    visitors: int
    conversions: int
    conversion_rate: Annotated[float, PERCENT]
    revenue_cents: int
    revenue_per_visitor_cents: float
    control_variant_name: str | None
    best_variant_name: str | None
    winner_variant_name: str | None
    improvement: Annotated[float | None, PERCENT]
    confidence: Annotated[float | None, SCORE]
    score_value: Annotated[float | None, SCORE]
    score_progress: Annotated[float | None, PROGRESS]
    score_label: str
    score_description: str
    effective_confidence_threshold: Annotated[float, PERCENT]
    rpv_lift: Annotated[float | None, PERCENT]
    projected_annual_revenue_impact_cents: int | None
    status: VariantStatus


@dataclass(frozen=True, slots=True)
class YearlyImpact:
    """Cents a year if every eligible visitor got the variant instead of the control, with its interval.

    `level` is a share. `is_shrunk` where the estimate is corrected for having been selected.
    """

    estimate: float
    low: float
    high: float
    level: float
    is_shrunk: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """Recommendation for a goal, in words."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    recommendation: Recommendation
    reason: Annotated[Reason | None, described("Why it is a `review`, or waits for a guardrail; else null.")]
    recommendation_label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str
    variant_name: str | None
    control_variant_name: str | None
    estimated_uplift: Annotated[float | None, PERCENT]
    score_label: str
    score_value: Annotated[float | None, SCORE]
    effective_confidence_threshold: Annotated[float, PERCENT]
    confidence_assessment: str
    projected_annual_revenue_impact_cents: int | None
    incremental_revenue_impact_cents: int | None
    revenue_currency: str
    visitors: int
    conversions: int
    conversion_rate: Annotated[float, PERCENT]
    docs: Annotated[
        str,
        described(
            "Page and section of the documentation about this recommendation.",
            example="docs/verdicts.md#ship",
        ),
    ] = ""
    # What the explanation says of a year; None where it says nothing.
    yearly_impact: Annotated[YearlyImpact | None, NOT_ANSWERED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Result of a health check."""

    check: str
    status: CheckStatus
    message: str
    details: dict[str, Any]
    docs: Annotated[
        str,
        described(
            "Page and section of the documentation about this check.", example="docs/verdicts.md#sample_ratio"
        ),
    ] = ""

    @property
    def is_open(self) -> bool:
        """Whether it is to be looked at: a warning or an alarm."""
        return self.status in {"warning", "alarm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """Results of a variant on a day."""

    visitors: Annotated[int, described("Visitors first exposed that day.", example=820)]
    conversions: Annotated[int, described("Visitors whose first conversion was that day.", example=48)]
    conversion_rate: Annotated[float, PERCENT]
    revenue_cents: Annotated[int, described("Revenue of the orders of that day.", example=239520)]
    revenue_per_visitor_cents: float
    amount: Annotated[
        float | None,
        described(
            "Sum of what the goal's `measure` takes of the events of that day, such as their `count`, or of "
            "those in the numerator of a `ratio`; null for `converted` and for revenue.",
            example=61.0,
        ),
    ] = None
    denominator: Annotated[
        float | None,
        described("The same sum of the denominator of a `ratio`; null for other goals.", example=48.0),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalReport:
    """Results, decision and days of one goal; variants in order, days keyed by variant id.

    `breaks` has the sentence on each variant that breaks this guardrail, by its id.
    """

    goal: Goal
    variants: tuple[VariantResult, ...]
    summary: GoalSummary
    decision: DecisionSummary
    days: Sequence[tuple[date, dict[str, DayResult]]]
    breaks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightEpochResult:
    """A weight epoch: the weights that split new visitors from `started_at` to the next epoch."""

    started_at: datetime
    weights: Annotated[
        dict[str, float],
        described(
            "By variant id; in the first epoch the configured weights.",
            example={"var_a7hn2qk5vxm3tz6d4wpr": 50.0, "var_f3kq7xm2w5c4hn6d2tzp": 50.0},
        ),
    ]
    visitors: Annotated[
        dict[str, int],
        described(
            "Visitors first exposed in this epoch, by variant id.",
            example={"var_a7hn2qk5vxm3tz6d4wpr": 6120, "var_f3kq7xm2w5c4hn6d2tzp": 6240},
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimand:
    """The estimand of the comparisons where weights changed."""

    description: str
    compared_share: Annotated[
        float | None,
        AnswerField(
            "percent",
            "Percent of a variant's and the control's visitors who are compared; the least of all.",
            "compared_percentage",
            example=92.5,
        ),
    ]
    epochs: tuple[WeightEpochResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(ShownResult):
    """The result of an experiment: the same for the API, the CLI and notebooks.

    `plan` is that of its sample, and `due_look` the look that is to be recorded now, None where none is due.
    `estimand` is None where weights never changed: there it is the plain mean of each variant's visitors.
    `clustered_by` names the clusters, such as accounts, by which variants are compared; None without any.
    `sums_from` names who counted the visitors, where that was outside of the service. `is_exploratory` where
    it is of a part of the visitors, so that no action rests on it.
    """

    experiment: Experiment
    score_label: str
    score_description: str
    effective_confidence_threshold: float
    goals: tuple[GoalReport, ...]
    health: tuple[HealthCheck, ...]
    as_of: datetime | None
    plan: PlanReport
    due_look: RecordedLook | None = None
    estimand: Estimand | None = None
    clustered_by: str | None = None
    sums_from: str | None = None
    is_exploratory: bool = False

    @property
    def primary(self) -> GoalReport | None:
        """The report of the primary goal; None while the experiment has no goal."""
        return next((goal for goal in self.goals if goal.goal.is_primary), None)
