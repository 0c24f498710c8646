"""Result of a variant on a goal: numbers, status and comparison, with None where there is no number.

Shares, minor units of money and unrounded numbers. Descriptions are those of the API's answers, which have
percents in the place of shares, and null in that of None.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from engine.analysis.results.answer_fields import (
    NOT_ANSWERED,
    PERCENT,
    PROGRESS,
    AnswerField,
    described,
)

VariantStatus = Literal["control", "winner", "loser", "inconclusive", "insufficient_data"]

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
    covariates: Annotated[tuple[str, ...], described("What CUPED adjusted by.")] = ()


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
            "for `count` of the events; for `retained` the percent of `observed_visitors`, and for "
            "other shares while a window is open. Null for other `converted` goals and for revenue.",
        ),
    ] = None
    observed_visitors: Annotated[
        int | None,
        described("Visitors whose outcome is known, which comparisons are of; null where all have one."),
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
    adjusted_chance_to_beat: Annotated[
        float | None,
        AnswerField(
            "score",
            "Percent: chance_to_beat with Holm's adjustment for several variants; null without "
            "`statistics.correction` `holm` and several comparisons.",
        ),
    ] = None
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
    # Clusters that comparisons are of, with a known outcome; None where visitors are assigned one by one.
    clusters: Annotated[int | None, NOT_ANSWERED] = None
    # Explains the first number that is missing.
    reason: Annotated[str | None, NOT_ANSWERED] = None
