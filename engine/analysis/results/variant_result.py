"""Result of a variant on a goal: counts, its metric, the comparison with the control, and details.

Shares, minor units of money and unrounded numbers; None where there is no number.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from engine.analysis.results.answer_fields import NOT_ANSWERED, PERCENT, AnswerField, described
from engine.vocabulary import MetricUnit

VariantStatus = Literal["control", "winner", "loser", "inconclusive", "insufficient_data"]
MetricName = Literal["conversion_rate", "revenue_per_visitor", "revenue_per_order", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval from `low` to `high` at `level` percent; an infinite bound is null."""

    low: float | None
    high: float | None
    level: Annotated[float, PERCENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of one variant as observed, of `n` visitors or orders, with its own interval.

    `is_partial` where some visitors of the goal, of any variant, have no known outcome: `n` have one.
    """

    name: MetricName
    value: float | None
    unit: MetricUnit
    currency: str
    n: int
    interval: Interval | None = None
    is_partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A metric of a variant against the control's; `improvement` is relative, a difference in its unit."""

    improvement: float | None = None
    improvement_interval: Interval | None = None
    sequential_interval: Interval | None = None
    absolute_difference: float | None = None
    absolute_difference_interval: Interval | None = None
    log_p_value: float | None = None
    p_value: float | None = None
    confidence: float | None = None
    score_value: float | None = None
    score_progress: float | None = None
    chance_to_beat: float | None = None
    adjusted_chance_to_beat: float | None = None
    expected_loss: float | None = None
    projected_annual_revenue_impact_cents: int | None = None


NO_NUMBERS: Final = Comparison()


class _Compared:
    """Gives a result with a comparison the numbers that are read most, None where there is none."""

    __slots__ = ()
    comparison: Comparison | None

    @property
    def compared(self) -> Comparison:
        """The comparison; one without any number where there is none."""
        return self.comparison or NO_NUMBERS

    @property
    def improvement(self) -> float | None:
        """The change relative to the control."""
        return self.compared.improvement

    @property
    def improvement_interval(self) -> Interval | None:
        """The interval of the improvement."""
        return self.compared.improvement_interval

    @property
    def p_value(self) -> float | None:
        """The p value of the comparison."""
        return self.compared.p_value

    @property
    def chance_to_beat(self) -> float | None:
        """The chance to be better than the control."""
        return self.compared.chance_to_beat


@dataclass(frozen=True, slots=True, kw_only=True)
class Unadjusted(_Compared):
    """The comparison with the control without CUPED."""

    comparison: Comparison | None
    status: VariantStatus
    variance_reduction: float
    covariates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """The cap of amounts: larger amounts count as `cap_cents` in every variant.

    For goals with a `measure` of amounts, its unit stands for cents.
    """

    cap: Annotated[float, AnswerField(name="cap_cents")]
    visitors: Annotated[int, described("Visitors of this variant above the cap.", example=31)]
    mean: Annotated[
        float,
        AnswerField(
            name="mean_cents",
            description="Cents per visitor, or per order, with the cap: `improvement` is of this mean.",
            example=231.4,
        ),
    ]
    projected_annual_revenue_impact_cents: Annotated[
        int | None,
        described("The yearly impact with the cap; that of the variant is without it. Null per order."),
    ]
    # None in reports of before it was known.
    uncapped: Annotated[float | None, NOT_ANSWERED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A step of a funnel, in order; the last one is the goal's own event."""

    name: Annotated[str, described("The event, page or CSS selector of the step.", example="begin_checkout")]
    visitors: Annotated[
        int, described("Visitors of the variant who did it and all steps before it, in order.", example=6120)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What explains a result, where it applies; `revenue` compares revenue per visitor, on every goal."""

    revenue: Comparison = NO_NUMBERS
    conversion_part: Comparison | None = None
    spending_part: Comparison | None = None
    unadjusted: Unadjusted | None = None
    capped: Capped | None = None
    per_order: Metric | None = None
    steps: tuple[FunnelStep, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult(_Compared):
    """Results of a variant on a goal; comparisons are null for the control and without enough data.

    `metric` is what the comparison is of: with the cap where there is one, and of known outcomes. `revenue`
    is that per visitor, without caps and of all visitors. `reason` explains the first number that is missing
    in the comparison. `clusters` have a known outcome, and are None where visitors are assigned one by one.
    """

    variant_id: str
    variant_name: str
    is_control: bool
    sample_ratio_expected: float
    visitors: int
    conversions: int
    revenue_cents: int
    clusters: int | None = None
    metric: Metric
    revenue: Metric
    status: VariantStatus
    comparison: Comparison | None
    reason: str | None
    chance_to_be_best: float | None
    details: Details

    @property
    def conversion_rate(self) -> float:
        """The share of all visitors who converted so far."""
        return self.conversions / max(self.visitors, 1)

    @property
    def revenue_per_visitor_cents(self) -> float:
        """The revenue per visitor, of all visitors and without caps."""
        return self.revenue.value or 0.0

    @property
    def mean(self) -> float | None:
        """The metric where it is neither the conversion rate of all visitors nor revenue."""
        return self.metric.value if self.metric.name == "mean" else None

    @property
    def observed_visitors(self) -> int | None:
        """The visitors whose outcome is known; None where all have one."""
        return self.metric.n if self.metric.is_partial else None

    @property
    def rate_interval(self) -> Interval | None:
        """The interval of this variant alone: of revenue per visitor where the goal is revenue."""
        return self.revenue.interval or self.metric.interval
