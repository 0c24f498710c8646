"""Report of an experiment: numbers, statuses and sentences, with None where there is no number.

Shares, minor units of money and unrounded numbers. Descriptions are those of the API's answers, which have
percents in the place of shares, and null in that of None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

from engine.analysis.evidence.recorded_looks import PlanSource, RecordedLook
from engine.analysis.results.answer_fields import (
    NOT_ANSWERED,
    PERCENT,
    PROGRESS,
    SCORE,
    AnswerField,
    described,
)
from engine.design.experiment import Experiment, Goal
from engine.shown_result import ShownResult
from engine.vocabulary import GoalType

VariantStatus = Literal["control", "winner", "loser", "inconclusive", "insufficient_data"]
Recommendation = Literal["ship", "rollback", "keep_running", "review", "insufficient_data", "fix_data"]
Reason = Literal[
    "no_difference",
    "undecided",
    "guardrail_broken",
    "guardrail_unknown",
    "guardrail_unjudged",
    "goal_harmed",
    "ended_early",
    "exploratory",
]
Tone = Literal["positive", "negative", "neutral", "warning"]
CheckStatus = Literal["ok", "warning", "alarm", "not_applicable"]

_DIFFERENCE: Final = (
    "Percentage points for conversion, cents per visitor for revenue, for other measures the unit of `mean`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval from `low` to `high` at `level` percent; an infinite bound is null."""

    low: float | None
    high: float | None
    level: Annotated[float, PERCENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unadjusted:
    """The comparison with the control without CUPED."""

    improvement: Annotated[float | None, AnswerField("percent", "Percent over the control.")]
    improvement_interval: Annotated[Interval | None, PERCENT]
    p_value: float | None
    score_value: Annotated[float | None, AnswerField("score", "Percent.")]
    status: VariantStatus
    variance_reduction: Annotated[
        float, AnswerField("percent", "Percent of the variance that CUPED removes.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """The cap of amounts: larger amounts count as `cap_cents` in every variant.

    For goals with a `measure` of amounts, its unit stands for cents.
    """

    cap: Annotated[float, AnswerField(name="cap_cents")]
    visitors: Annotated[int, described("Visitors of this variant above the cap.")]
    mean: Annotated[
        float,
        AnswerField(
            name="mean_cents",
            description="Cents per visitor, or per order, with the cap: `improvement` is of this mean.",
        ),
    ]
    projected_annual_revenue_impact_cents: Annotated[
        int | None,
        described("The yearly impact with the cap; that of the variant is without it. Null per order."),
    ]

    @property
    def cap_cents(self) -> float:
        """The cap of a revenue goal, in cents."""
        return self.cap

    @property
    def mean_cents(self) -> float:
        """The mean of a revenue goal with the cap, in cents."""
        return self.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenuePart:
    """A factor of revenue per visitor compared with the control: percents, with a flat prior."""

    improvement: Annotated[float | None, PERCENT]
    chance_to_beat: Annotated[float | None, PERCENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A step of a funnel, in order; the last one is the goal's own event."""

    name: Annotated[str, described("The event, page or CSS selector of the step.")]
    visitors: Annotated[
        int, described("Visitors of the variant who did it and all steps before it, in order.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """Results of a variant on a goal; comparisons are null for the control and without enough data."""

    variant_id: str
    variant_name: str
    is_control: bool
    currency: str
    visitors: int
    conversions: int
    conversion_rate: Annotated[float, AnswerField("percent", "Percent of visitors.")]
    revenue_cents: int
    revenue_per_visitor_cents: float
    # With the cap, where there is one.
    mean: Annotated[
        float | None,
        AnswerField(
            "mean",
            "Mean per visitor of the goal's `measure`, which `improvement` and `score_value` are of: "
            "for `count` of the events; for `retained` the percent of `observed_visitors`. Null for "
            "`converted` and for revenue.",
        ),
    ] = None
    observed_visitors: Annotated[
        int | None,
        described("Visitors whose outcome is known; for a `retained` goal, until that is all of them."),
    ] = None
    steps: Annotated[
        tuple[FunnelStep, ...] | None,
        described("Visitors at each step, for goals with the measure `funnel`; null for others."),
    ] = None
    improvement: Annotated[float | None, AnswerField("percent", "Percent over the control.")] = None
    confidence: Annotated[float | None, AnswerField("score", "Percent: 100 · (1 - p).")] = None
    score_value: Annotated[
        float | None,
        AnswerField(
            "score", "Percent to compare with effective_confidence_threshold; score_label says what it is."
        ),
    ] = None
    score_progress: Annotated[float | None, PROGRESS] = None
    chance_to_beat: Annotated[float | None, AnswerField("score", "Percent.")] = None
    status: VariantStatus
    rpv_lift: Annotated[
        float | None, AnswerField("percent", "Lift of revenue per visitor over the control, in percent.")
    ] = None
    projected_annual_revenue_impact_cents: int | None = None
    p_value: Annotated[
        float | None,
        described("Of the wanted direction where statistics.alternative is one_sided; else two-sided."),
    ] = None
    log_p_value: Annotated[
        float | None,
        described("Natural logarithm of p_value: finite where p_value is too small for a float and 0."),
    ] = None
    improvement_interval: Annotated[Interval | None, AnswerField("percent", "Percents, as improvement.")] = (
        None
    )
    absolute_difference: Annotated[float | None, AnswerField("difference", _DIFFERENCE)] = None
    absolute_difference_interval: Annotated[
        Interval | None,
        AnswerField(
            "difference",
            "Interval of absolute_difference, at the level of improvement_interval: of conversion rates by "
            f"Miettinen and Nurminen, of revenue by Welch. {_DIFFERENCE}",
        ),
    ] = None
    rate_interval: Annotated[
        Interval | None,
        AnswerField(
            "difference",
            "Confidence interval of this variant alone, at the experiment's confidence level: of "
            "conversion_rate (Wilson), in percent; for revenue goals of revenue_per_visitor_cents, in "
            "cents; for other measures of mean.",
        ),
    ] = None
    sequential_interval: Annotated[
        Interval | None,
        AnswerField(
            "percent",
            "Like improvement_interval, but valid at every look (confidence sequence). Null for Bayesian "
            "experiments and bandits, and below 25 conversions per variant.",
        ),
    ] = None
    expected_loss: Annotated[
        float | None, AnswerField("difference", f"Expected loss of choosing the variant. {_DIFFERENCE}")
    ] = None
    sample_ratio_expected: Annotated[float, described("Expected share of the visitors.")]
    chance_to_be_best: Annotated[
        float | None, AnswerField("percent", "Probability to be the best of all variants, in percent.")
    ] = None
    orders: Annotated[int | None, described("Number of orders; for goals with `per` `order`.")] = None
    revenue_per_order_cents: float | None = None
    unadjusted: Annotated[
        Unadjusted | None, described("Comparison without CUPED, where `statistics.cuped` adjusts this goal.")
    ] = None
    capped: Annotated[Capped | None, described("Cap of amounts, for goals with a `cap_percentile`.")] = None
    conversion_part: Annotated[
        RevenuePart | None, described("For revenue goals: the change in the share of paying visitors.")
    ] = None
    spending_part: Annotated[
        RevenuePart | None, described("For revenue goals: the change in revenue per paying visitor.")
    ] = None
    revenue_difference_cents: Annotated[float | None, NOT_ANSWERED] = None
    # Explains the first number that is missing.
    reason: Annotated[str | None, NOT_ANSWERED] = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """Recommendation for a goal, in words."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    recommendation: Recommendation
    reason: Annotated[Reason | None, described("Why it is a `review`; null for every other recommendation.")]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The sample plan by which an experiment is judged, for all of its goals."""

    source: Annotated[
        PlanSource,
        described(
            "`given` as `statistics.planned_sample`; `blinded`: computed from all variants together, "
            "until it is reached; `last_day`: reached on running day 56; `finished`: the data were complete."
        ),
    ]
    required_visitors: Annotated[
        int | None,
        described("Visitors to judge by, all variants together; null where no number is enough, or known."),
    ]
    # At so many visitors the intervals that are valid at every look are tightest.
    tuned_to: Annotated[float, NOT_ANSWERED]
    collected_visitors: Annotated[int, described("Visitors so far, all variants together.")]
    progress: Annotated[
        float | None,
        AnswerField("percent", "Percent of the required visitors, at most 100.", "progress_percent"),
    ]
    is_reached: bool
    reached_at: Annotated[
        datetime | None,
        described("Time of the one look at the plan, whose verdict stays; null before it is recorded."),
    ]
    running_days: Annotated[float | None, AnswerField("days", "Days since the start, without pauses.")]
    days_left: Annotated[
        int | None, described("Days until the plan is reached at the pace so far; null without a pace.")
    ]
    minimum_effect: Annotated[
        float,
        AnswerField(
            "percent",
            "Smallest relevant lift of the primary goal, in percent of the control.",
            "minimum_effect_percent",
        ),
    ]
    detectable_effect: Annotated[
        float | None,
        AnswerField(
            "percent",
            "Lift of the primary goal that the plan detects with 80% power.",
            "detectable_effect_percent",
        ),
    ]
    detectable_harm: Annotated[
        Mapping[str, float],
        AnswerField(
            "percent",
            "By the id of a guardrail: the loss beyond its margin that the plan detects.",
            "detectable_harm_percent",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Result of a health check."""

    check: str
    status: CheckStatus
    message: str
    details: dict[str, Any]

    @property
    def is_open(self) -> bool:
        """Whether it is to be looked at: a warning or an alarm."""
        return self.status in {"warning", "alarm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """Results of a variant on a day."""

    visitors: Annotated[int, described("Visitors first exposed that day.")]
    conversions: Annotated[int, described("Visitors whose first conversion was that day.")]
    conversion_rate: Annotated[float, PERCENT]
    revenue_cents: Annotated[int, described("Revenue of the orders of that day.")]
    revenue_per_visitor_cents: float
    amount: Annotated[
        float | None,
        described(
            "Sum of what the goal's `measure` takes of the events of that day, such as their `count`, or of "
            "those in the numerator of a `ratio`; null for `converted` and for revenue."
        ),
    ] = None
    denominator: Annotated[
        float | None, described("The same sum of the denominator of a `ratio`; null for other goals.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalReport:
    """Results, decision and days of one goal; variants in order, days keyed by variant id."""

    goal: Goal
    variants: tuple[VariantResult, ...]
    summary: GoalSummary
    decision: DecisionSummary
    days: tuple[tuple[date, dict[str, DayResult]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightEpochResult:
    """A weight epoch: the weights that split new visitors from `started_at` to the next epoch."""

    started_at: datetime
    weights: Annotated[
        dict[str, float], described("By variant id; in the first epoch the configured weights.")
    ]
    visitors: Annotated[dict[str, int], described("Visitors first exposed in this epoch, by variant id.")]


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
        ),
    ]
    epochs: tuple[WeightEpochResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(ShownResult):
    """The result of an experiment: the same for the API, the CLI and notebooks.

    `plan` is that of its sample, and `due_look` the look that is to be recorded now, None where none is due.
    `estimand` is None where weights never changed: there it is the plain mean of each variant's visitors.
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

    @property
    def primary(self) -> GoalReport | None:
        """The report of the primary goal; None while the experiment has no goal."""
        return next((goal for goal in self.goals if goal.goal.is_primary), None)
