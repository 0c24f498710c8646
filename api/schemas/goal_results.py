"""Answers about the results of a goal: variants, summary and recommendation."""

from pydantic import BaseModel, Field

from api.schemas.percents import in_percents, percent
from engine.analysis.results import report as judged
from engine.analysis.results.report import Reason, Recommendation, Tone, VariantStatus
from engine.vocabulary import GoalType, MetricUnit

UNIT = (
    "Percentage points for conversion, cents per visitor for revenue, for other measures the unit of `mean`."
)


class Interval(BaseModel):
    """An interval from `low` to `high` at `level` percent; an infinite bound is null."""

    low: float | None
    high: float | None
    level: float


class Unadjusted(BaseModel):
    """The comparison with the control without CUPED."""

    improvement: float | None = Field(description="Percent over the control.")
    improvement_interval: Interval | None
    p_value: float | None
    score_value: float | None = Field(description="Percent.")
    status: VariantStatus
    variance_reduction: float = Field(description="Percent of the variance that CUPED removes.")

    @classmethod
    def of(cls, found: judged.Unadjusted, threshold: float) -> "Unadjusted":
        """Describe an unadjusted comparison; its score is compared with the `threshold`, a share."""
        return cls(
            **{
                **in_percents(found, threshold),
                "improvement_interval": relative(found.improvement_interval),
                "variance_reduction": percent(found.variance_reduction),
            }
        )


class Capped(BaseModel):
    """The cap of amounts: larger amounts count as `cap_cents` in every variant.

    For goals with a `measure` of amounts, its unit stands for cents.
    """

    cap_cents: float
    visitors: int = Field(description="Visitors of this variant above the cap.")
    mean_cents: float = Field(
        description="Cents per visitor, or per order, with the cap: `improvement` is of this mean."
    )
    projected_annual_revenue_impact_cents: int | None = Field(
        description="The yearly impact with the cap; that of the variant is without it. Null per order."
    )

    @classmethod
    def of(cls, capped: judged.Capped) -> "Capped":
        """Describe the cap of a revenue goal."""
        return cls(
            cap_cents=capped.cap_cents,
            visitors=capped.visitors,
            mean_cents=capped.mean_cents,
            projected_annual_revenue_impact_cents=capped.projected_annual_revenue_impact_cents,
        )


class RevenuePart(BaseModel):
    """A factor of revenue per visitor compared with the control: percents, with a flat prior."""

    improvement: float | None
    chance_to_beat: float | None


class FunnelStep(BaseModel):
    """A step of a funnel, in order; the last one is the goal's own event."""

    name: str = Field(description="The event, page or CSS selector of the step.")
    visitors: int = Field(description="Visitors of the variant who did it and all steps before it, in order.")


class VariantResult(BaseModel):
    """Results of a variant on a goal; comparisons are null for the control and without enough data."""

    variant_id: str
    variant_name: str
    is_control: bool
    currency: str
    visitors: int
    conversions: int
    conversion_rate: float = Field(description="Percent of visitors.")
    revenue_cents: int
    revenue_per_visitor_cents: float
    mean: float | None = Field(
        description="Mean per visitor of the goal's `measure`, which `improvement` and `score_value` are of: "
        "for `count` of the events; for `retained` the percent of `observed_visitors`. Null for `converted` "
        "and for revenue."
    )
    observed_visitors: int | None = Field(
        description="Visitors whose outcome is known; for a `retained` goal, until that is all of them."
    )
    steps: list[FunnelStep] | None = Field(
        description="Visitors at each step, for goals with the measure `funnel`; null for others."
    )
    improvement: float | None = Field(description="Percent over the control.")
    confidence: float | None = Field(description="Percent: 100 · (1 - p).")
    score_value: float | None = Field(
        description="Percent to compare with effective_confidence_threshold; score_label says what it is."
    )
    score_progress_percentage: float | None
    chance_to_beat: float | None = Field(description="Percent.")
    status: VariantStatus
    rpv_lift: float | None = Field(description="Lift of revenue per visitor over the control, in percent.")
    projected_annual_revenue_impact_cents: int | None
    p_value: float | None = Field(
        description="Of the wanted direction where statistics.alternative is one_sided; else two-sided."
    )
    log_p_value: float | None = Field(
        description="Natural logarithm of p_value: finite where p_value is too small for a float and 0."
    )
    improvement_interval: Interval | None = Field(description="Percents, as improvement.")
    absolute_difference: float | None = Field(description=UNIT)
    absolute_difference_interval: Interval | None = Field(
        description="Interval of absolute_difference, at the level of improvement_interval: of conversion "
        f"rates by Miettinen and Nurminen, of revenue by Welch. {UNIT}"
    )
    rate_interval: Interval | None = Field(
        description="Confidence interval of this variant alone, at the experiment's confidence level: of "
        "conversion_rate (Wilson), in percent; for revenue goals of revenue_per_visitor_cents, in cents; for "
        "other measures of mean."
    )
    sequential_interval: Interval | None = Field(
        description="Like improvement_interval, but valid at every look (confidence sequence). Null for "
        "Bayesian experiments and bandits, and below 25 conversions per variant."
    )
    expected_loss: float | None = Field(description=f"Expected loss of choosing the variant. {UNIT}")
    sample_ratio_expected: float = Field(description="Expected share of the visitors.")
    chance_to_be_best: float | None = Field(
        description="Probability to be the best of all variants, in percent."
    )
    orders: int | None = Field(description="Number of orders; for goals with `per` `order`.")
    revenue_per_order_cents: float | None
    unadjusted: Unadjusted | None = Field(
        description="Comparison without CUPED, where `statistics.cuped` adjusts this goal."
    )
    capped: Capped | None = Field(description="Cap of amounts, for goals with a `cap_percentile`.")
    conversion_part: RevenuePart | None = Field(
        description="For revenue goals: the change in the share of paying visitors."
    )
    spending_part: RevenuePart | None = Field(
        description="For revenue goals: the change in revenue per paying visitor."
    )

    @classmethod
    def of(cls, result: judged.VariantResult, metric_unit: MetricUnit, threshold: float) -> "VariantResult":
        """Describe a variant's results on a goal with that unit; `threshold` of scores is a share."""
        unit = 100.0 if metric_unit == "share" else 1.0
        return cls(
            **{
                **in_percents(result, threshold),
                "mean": mean_of(result.mean, metric_unit),
                "absolute_difference": _scaled(result.absolute_difference, unit),
                "absolute_difference_interval": _absolute(result.absolute_difference_interval, unit),
                "rate_interval": _absolute(result.rate_interval, unit),
                "expected_loss": _scaled(result.expected_loss, unit),
                "improvement_interval": relative(result.improvement_interval),
                "sequential_interval": relative(result.sequential_interval),
                "chance_to_be_best": percent(result.chance_to_be_best),
                "capped": Capped.of(result.capped) if result.capped else None,
                "unadjusted": Unadjusted.of(result.unadjusted, threshold) if result.unadjusted else None,
                "conversion_part": _part(result.conversion_part),
                "spending_part": _part(result.spending_part),
            }
        )


class GoalSummary(BaseModel):
    """Summary of a goal over all variants."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
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
    score_progress_percentage: float | None
    score_label: str
    score_description: str
    effective_confidence_threshold: float
    rpv_lift: float | None
    projected_annual_revenue_impact_cents: int | None
    status: VariantStatus

    @classmethod
    def of(cls, summary: judged.GoalSummary) -> "GoalSummary":
        """Describe the summary of a goal."""
        return cls(**in_percents(summary, summary.effective_confidence_threshold))


def mean_of(mean: float | None, metric_unit: MetricUnit) -> float | None:
    """Convert the mean of a share to percent; other means stay."""
    return percent(mean) if metric_unit == "share" else mean


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else round(unit * value, 4) + 0.0


def _absolute(interval: judged.Interval | None, unit: float) -> Interval | None:
    """Convert an interval of shares or cents to percentage points or cents, to four decimals."""
    if interval is None:
        return None
    low, high = _scaled(interval.low, unit), _scaled(interval.high, unit)
    return Interval(low=low, high=high, level=percent(interval.level))


def _part(part: judged.RevenuePart | None) -> RevenuePart | None:
    return None if part is None else RevenuePart(**in_percents(part))


def relative(interval: judged.Interval | None) -> Interval | None:
    """Convert an interval of shares to percents."""
    if interval is None:
        return None
    return Interval(low=percent(interval.low), high=percent(interval.high), level=percent(interval.level))


class DecisionSummary(BaseModel):
    """Recommendation for a goal, in words."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    recommendation: Recommendation
    reason: Reason | None = Field(description="Why it is a `review`; null for every other recommendation.")
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

    @classmethod
    def of(cls, decision: judged.DecisionSummary) -> "DecisionSummary":
        """Describe the recommendation for a goal."""
        return cls(**in_percents(decision, decision.effective_confidence_threshold))
