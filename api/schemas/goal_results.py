"""How a variant, and a goal over all variants, did: on the wire.

What to do about a goal: on the wire.
"""

from pydantic import BaseModel, Field

from api.schemas.percents import in_percents, percent
from engine.analysis.results import report as judged
from engine.analysis.results.report import Recommendation, Tone, VariantStatus
from engine.design.vocabulary import GoalType

UNIT = "Percentage points for conversion, cents per visitor for revenue."


class Interval(BaseModel):
    """From `low` to `high` at `level` percent; a bound that is infinite is null."""

    low: float | None
    high: float | None
    level: float


class Unadjusted(BaseModel):
    """The comparison without what visitors did before their first exposure."""

    improvement: float | None = Field(description="Percent over the control.")
    improvement_interval: Interval | None
    p_value: float | None
    score_value: float | None = Field(description="Percent.")
    status: VariantStatus
    variance_reduction: float = Field(description="Percent of the variance that the adjustment takes away.")

    @classmethod
    def of(cls, found: judged.Unadjusted) -> "Unadjusted":
        """Describe it."""
        return cls(
            **{
                **in_percents(found),
                "improvement_interval": relative(found.improvement_interval),
                "variance_reduction": percent(found.variance_reduction),
            }
        )


class Capped(BaseModel):
    """Amounts above `cap_cents` count as that, in every variant alike."""

    cap_cents: float
    visitors: int = Field(description="Visitors of this variant who had more.")


class RevenuePart(BaseModel):
    """A factor of revenue per visitor against the control's: percents, under a flat prior."""

    improvement: float | None
    chance_to_beat: float | None


class VariantResult(BaseModel):
    """One variant on one goal; comparisons are null for the control and where there is nothing to compare."""

    variant_id: str
    variant_name: str
    is_control: bool
    visitors: int
    conversions: int
    conversion_rate: float = Field(description="Percent of visitors.")
    revenue_cents: int
    revenue_per_visitor_cents: float
    improvement: float | None = Field(description="Percent over the control.")
    confidence: float | None = Field(description="Percent: 100 · (1 - p).")
    score_value: float | None = Field(description="Percent to judge by, as score_label says.")
    score_progress_percentage: float | None
    chance_to_beat: float | None = Field(description="Percent.")
    status: VariantStatus
    rpv_lift: float | None = Field(description="Percent of revenue per visitor over the control's.")
    projected_annual_revenue_impact_cents: int | None
    p_value: float | None = Field(description="Two-sided.")
    improvement_interval: Interval | None = Field(description="Percents, as improvement.")
    absolute_difference: float | None = Field(description=UNIT)
    sequential_interval: Interval | None = Field(
        description="As improvement_interval, but valid however often one looks; null for Bayesian "
        "experiments and bandits, and below 25 conversions a variant."
    )
    expected_loss: float | None = Field(description=f"What choosing it would cost on average. {UNIT}")
    sample_ratio_expected: float = Field(description="Share of the visitors that it should see.")
    chance_to_be_best: float | None = Field(description="Percent: to be the best of all variants.")
    orders: int | None = Field(description="Of goals judged per order.")
    revenue_per_order_cents: float | None
    unadjusted: Unadjusted | None = Field(description="Where `statistics.cuped` is on and adjusts this goal.")
    capped: Capped | None = Field(description="Of revenue goals with a `cap_percentile`.")
    conversion_part: RevenuePart | None = Field(
        description="Of revenue goals, to explain them: how the share of visitors who pay changed."
    )
    spending_part: RevenuePart | None = Field(description="And how much each who pays brings.")

    @classmethod
    def of(cls, result: judged.VariantResult, goal_type: GoalType) -> "VariantResult":
        """Describe how a variant did on a goal of that type."""
        unit = 1.0 if goal_type == "revenue" else 100.0
        return cls(
            **{
                **in_percents(result),
                "absolute_difference": _scaled(result.absolute_difference, unit),
                "expected_loss": _scaled(result.expected_loss, unit),
                "improvement_interval": relative(result.improvement_interval),
                "sequential_interval": relative(result.sequential_interval),
                "chance_to_be_best": percent(result.chance_to_be_best),
                "unadjusted": Unadjusted.of(result.unadjusted) if result.unadjusted else None,
                "conversion_part": _part(result.conversion_part),
                "spending_part": _part(result.spending_part),
            }
        )


class GoalSummary(BaseModel):
    """One goal over all variants, and its best one."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
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
        """Describe a goal over all variants."""
        return cls(**in_percents(summary))


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else round(unit * value, 4) + 0.0


def _part(part: judged.RevenuePart | None) -> RevenuePart | None:
    return None if part is None else RevenuePart(**in_percents(part))


def relative(interval: judged.Interval | None) -> Interval | None:
    """An interval of shares in percents."""
    if interval is None:
        return None
    return Interval(low=percent(interval.low), high=percent(interval.high), level=percent(interval.level))


class DecisionSummary(BaseModel):
    """What to do about one goal, in words."""

    goal_id: str
    goal_name: str
    goal_type: GoalType
    recommendation: Recommendation
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
        """Describe a decision."""
        return cls(**in_percents(decision))


class GoalDecision(BaseModel):
    """The decision about one goal, in short."""

    goal_id: str
    recommendation: Recommendation
    headline: str

    @classmethod
    def of(cls, decision: judged.DecisionSummary) -> "GoalDecision":
        """Describe a decision in short."""
        return cls(
            goal_id=decision.goal_id, recommendation=decision.recommendation, headline=decision.headline
        )
