"""Report of an experiment: numbers, statuses and sentences, with None where there is no number.

Shares, cents and unrounded numbers; percent, rounding and JSON are the API's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from engine.analysis.evidence.recorded_looks import PlanSource, RecordedLook
from engine.design.experiment import Experiment, Goal
from engine.shown_result import ShownResult

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From `low` to `high` at `level` (a share); a bound is None where it is infinite."""

    low: float | None
    high: float | None
    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unadjusted:
    """The comparison without the pre-period: shares, and the interval of `improvement`.

    `variance_reduction` is the share of the variance within arms that the adjustment removes.
    """

    improvement: float | None
    improvement_interval: Interval | None
    p_value: float | None
    score_value: float | None
    status: VariantStatus
    variance_reduction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """Values above `cap` count as that, in every variant alike; `visitors` of this one had more.

    `cap` and `mean` are in cents for revenue, and in the goal's own unit otherwise. `mean` is per visitor,
    or per order where the goal is measured so, with the cap; `improvement` is its change.
    `projected_annual_revenue_impact_cents` is that of the result, with the cap; None for the control and per
    order.
    """

    cap: float
    visitors: int
    mean: float
    projected_annual_revenue_impact_cents: int | None

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
    """A factor of revenue per visitor: its relative change, and the chance that it is higher. Shares."""

    improvement: float | None
    chance_to_beat: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A step of a funnel: `visitors` of the variant who did it and all steps before it, in order."""

    name: str
    visitors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """One variant on one goal. Shares are 0 to 1; comparisons are None for the control.

    `currency` is the ISO 4217 code of the goal's money, of which every amount in cents is in minor units.
    `mean` is that of a goal measured otherwise than by conversions or revenue, in its own unit, with the cap
    where there is one; `observed_visitors` are those with a known outcome, None where that is every visitor,
    and `steps` those of a funnel. `rate_interval` is of the variant's own `conversion_rate`, of its
    `revenue_per_visitor_cents` for a revenue goal, or of its `mean`, at the experiment's confidence level;
    `absolute_difference_interval` is of `absolute_difference`, at the level of `improvement_interval`. The
    other two are of `improvement`, a ratio. `improvement_interval` holds for one look at the end,
    `sequential_interval` for all looks together; it is None for Bayesian experiments and bandits, and before
    both arms have the conversions it needs. `unadjusted` goes with a comparison adjusted by the pre-period,
    `capped` where amounts are capped. Revenue is conversion rate times revenue per converted visitor:
    `conversion_part` and `spending_part` say which of them changed.
    """

    variant_id: str
    variant_name: str
    is_control: bool
    currency: str
    visitors: int
    conversions: int
    conversion_rate: float
    revenue_cents: int
    revenue_per_visitor_cents: float
    status: VariantStatus
    sample_ratio_expected: float
    improvement: float | None = None
    p_value: float | None = None
    log_p_value: float | None = None
    confidence: float | None = None
    score_value: float | None = None
    score_progress: float | None = None
    chance_to_beat: float | None = None
    expected_loss: float | None = None
    improvement_interval: Interval | None = None
    sequential_interval: Interval | None = None
    absolute_difference: float | None = None
    absolute_difference_interval: Interval | None = None
    rate_interval: Interval | None = None
    rpv_lift: float | None = None
    revenue_difference_cents: float | None = None
    projected_annual_revenue_impact_cents: int | None = None
    chance_to_be_best: float | None = None
    orders: int | None = None
    revenue_per_order_cents: float | None = None
    unadjusted: Unadjusted | None = None
    capped: Capped | None = None
    conversion_part: RevenuePart | None = None
    spending_part: RevenuePart | None = None
    mean: float | None = None
    observed_visitors: int | None = None
    steps: tuple[FunnelStep, ...] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSummary:
    """A goal over all variants, and its best one. Shares are 0 to 1."""

    goal_id: str
    goal_name: str
    goal_type: str
    currency: str
    visitors: int
    conversions: int
    conversion_rate: float
    revenue_cents: int
    revenue_per_visitor_cents: float
    control_variant_name: str | None
    best_variant_name: str | None
    winner_variant_name: str | None
    improvement: float | None
    confidence: float | None
    score_value: float | None
    score_progress: float | None
    score_label: str
    score_description: str
    effective_confidence_threshold: float
    rpv_lift: float | None
    projected_annual_revenue_impact_cents: int | None
    status: VariantStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """Recommendation on one goal, in sentences for a product manager. Shares are 0 to 1."""

    goal_id: str
    goal_name: str
    goal_type: str
    recommendation: Recommendation
    reason: Reason | None
    recommendation_label: str
    tone: Tone
    headline: str
    explanation: str
    next_step: str
    variant_name: str | None
    control_variant_name: str | None
    estimated_uplift: float | None
    score_label: str
    score_value: float | None
    effective_confidence_threshold: float
    confidence_assessment: str
    projected_annual_revenue_impact_cents: int | None
    incremental_revenue_impact_cents: int | None
    revenue_currency: str
    visitors: int
    conversions: int
    conversion_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The plan that an experiment is judged by, for all goals. Effects are relative lifts, shares.

    `required_visitors` are of all variants together, None where no number of visitors is enough; `source` is
    a given sample, blinded re-estimation, the last running day, or data that are complete. At `tuned_to`
    visitors the intervals that are valid at every look are tightest. `progress` is the share of the required
    visitors that is in, `days_left` the days to go at the pace so far. `detectable_effect` is found with
    80% power by the plan, `reached_at` the time of its recorded look. `detectable_harm` is, by goal id, the
    loss beyond a guardrail's margin that is found by the plan.
    """

    source: PlanSource
    required_visitors: int | None
    tuned_to: float
    collected_visitors: int
    progress: float | None
    is_reached: bool
    reached_at: datetime | None
    running_days: float | None
    days_left: int | None
    minimum_effect: float
    detectable_effect: float | None
    detectable_harm: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Result of one check. `details` are JSON-ready facts."""

    check: str
    status: CheckStatus
    message: str
    details: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult:
    """One variant on one local day; `amount` is that of the day's events, None for goals without amounts.

    Of a ratio it is the numerator, and `denominator` that of the day's events; None for other goals.
    """

    visitors: int
    conversions: int
    conversion_rate: float
    revenue_cents: int
    revenue_per_visitor_cents: float
    amount: float | None = None
    denominator: float | None = None


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
    """From `started_at` on new visitors were split by `weights`; `visitors` came of it. By variant id."""

    started_at: datetime
    weights: dict[str, float]
    visitors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimand:
    """Estimand where weights changed, in words, and the share of visitors compared.

    `compared_share` is the least of all variants'; None where no visitor is compared.
    """

    description: str
    compared_share: float | None
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
