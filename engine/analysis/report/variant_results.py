"""Results of each variant on each goal, out of the arrays: None where there is no number."""

from typing import Any

import numpy as np

from engine.analysis.comparison.absolute_intervals import absolute_difference_intervals, rate_intervals
from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.corrections import adjust_chances
from engine.analysis.comparison.metrics import have_means, mean_amounts
from engine.analysis.comparison.revenue import RevenueEffects, compare_revenue
from engine.analysis.comparison.significance import Significance
from engine.analysis.report.missing_reasons import missing_reasons
from engine.analysis.report.variant_details import detail_columns
from engine.analysis.results.numbers import (
    Nested,
    intervals,
    listed,
    no_cells,
    numbers,
    p_values,
    whole_numbers,
)
from engine.analysis.results.variant_result import VariantResult
from engine.stats.arrays import BoolArray


def variant_results(
    data: AnalysisData, significance: Significance, *, currency: str
) -> tuple[tuple[VariantResult, ...], ...]:
    """Build every variant's result, a row a goal; the control's has counts and details only.

    `currency` is that of goals without their own.
    """
    revenue = compare_revenue(data)
    columns = (
        _counts(data)
        | {"status": significance.status.tolist()}
        | _comparisons(data, significance, revenue)
        | detail_columns(data, revenue.parts)
    )
    return tuple(
        tuple(
            _result(
                data,
                variant,
                {name: column[place][variant] for name, column in columns.items()},
                currency=goal.currency(currency),
            )
            for variant in range(len(data.experiment.variants))
        )
        for place, goal in enumerate(data.experiment.goals)
    )


def _result(data: AnalysisData, variant: int, cells: dict[str, Any], *, currency: str) -> VariantResult:
    arm, orders = data.experiment.variants[variant], cells["orders"]
    return VariantResult(
        variant_id=arm.id,
        variant_name=arm.name,
        is_control=variant == data.plan.control,
        currency=currency,
        visitors=int(data.evidence.visitors[variant]),
        sample_ratio_expected=float(data.expected_shares[variant]),
        revenue_per_order_cents=cells["revenue_cents"] / orders if orders else None,
        **cells,
    )


def _counts(data: AnalysisData) -> dict[str, Nested]:
    """List the counts of every variant, goals by variants, under the names of VariantResult's fields."""
    evidence, totals = data.evidence, data.evidence.totals
    everywhere = np.ones(evidence.conversions.shape, bool)
    levels = np.full(everywhere.shape, 1.0 - data.plan.family_alpha)
    return {
        "conversions": totals.conversions.tolist(),
        "conversion_rate": (totals.conversions / np.maximum(evidence.visitors, 1)).tolist(),
        "revenue_cents": whole_numbers(totals.revenue.total, where=everywhere),
        "revenue_per_visitor_cents": totals.revenue.mean.tolist(),
        "mean": _means(data),
        "observed_visitors": _observed_visitors(data),
        "clusters": no_cells(everywhere.shape)
        if evidence.clusters is None
        else evidence.clusters.known.tolist(),
        "rate_interval": intervals(*rate_intervals(data), levels, where=everywhere),
    }


def _means(data: AnalysisData) -> Nested:
    """List the means of goals that are measured otherwise than by conversions or revenue."""
    values = data.evidence.values
    shares = data.evidence.conversions / np.maximum(data.evidence.trials, 1)
    means = shares if values is None else np.where(data.plan.is_mean[:, None], mean_amounts(values), shares)
    is_measured = np.array([goal.measure.has_mean for goal in data.experiment.goals], bool)
    is_share = np.array([goal.unit == "share" for goal in data.experiment.goals], bool)
    is_share_so_far = _are_partial(data) & is_share & (data.plan.known_after > 0)
    is_known = data.evidence.trials > 0 if values is None else have_means(values) & (data.evidence.trials > 0)
    return numbers(means, where=(is_measured | is_share_so_far)[:, None] & is_known)


def _are_partial(data: AnalysisData) -> BoolArray:
    """Flag goals of which some visitors have no known outcome."""
    return np.asarray((data.evidence.trials != data.evidence.visitors).any(axis=1))


def _observed_visitors(data: AnalysisData) -> Nested:
    """List the visitors whose outcome is known, on goals where that is not all of them."""
    observed = data.evidence.observed
    if observed is None:
        return no_cells(data.evidence.conversions.shape)
    return listed(observed, where=np.broadcast_to(_are_partial(data)[:, None], observed.shape))


def _comparisons(
    data: AnalysisData, significance: Significance, revenue: RevenueEffects
) -> dict[str, Nested]:
    """List the comparisons with the control in the same way; None in its own column."""
    effects, score = significance.effects, significance.score
    compared = np.arange(len(data.plan.weights)) != data.plan.control
    arrays = {
        "improvement": effects.improvement,
        "log_p_value": effects.log_p,
        "confidence": significance.confidence,
        "score_value": score,
        "score_progress": np.minimum(score / data.plan.threshold, 1.0),
        "chance_to_beat": effects.chance,
        "adjusted_chance_to_beat": adjust_chances(data, effects.chance),
        "expected_loss": effects.loss,
        "absolute_difference": effects.difference,
        "rpv_lift": revenue.lift,
        "revenue_difference_cents": revenue.difference,
    }
    levels = significance.interval_levels
    return {
        **{name: numbers(values, where=compared) for name, values in arrays.items()},
        "p_value": p_values(effects.log_p, where=compared),
        "projected_annual_revenue_impact_cents": whole_numbers(revenue.yearly, where=compared),
        "improvement_interval": intervals(effects.low, effects.high, levels, where=compared),
        "absolute_difference_interval": intervals(
            *absolute_difference_intervals(data, significance), levels, where=compared
        ),
        "sequential_interval": _sequential_intervals(data, significance, compared),
        "reason": missing_reasons(data, significance),
    }


def _sequential_intervals(data: AnalysisData, significance: Significance, compared: BoolArray) -> Nested:
    monitoring = significance.monitoring
    if monitoring is None:
        return no_cells(significance.gain.shape)
    levels = np.full(significance.gain.shape, 1.0 - data.plan.two_sided_alpha)
    return intervals(monitoring.lift_low, monitoring.lift_high, levels, where=compared)
