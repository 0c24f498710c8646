"""Comparisons of each variant with the control, and the details that explain them, out of the arrays."""

from dataclasses import replace
from typing import Any

import numpy as np

from engine.analysis.comparison.absolute_intervals import absolute_difference_intervals
from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.corrections import adjust_chances
from engine.analysis.comparison.metrics import mean_amounts
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.revenue import RevenueEffects, RevenueParts, compare_revenue
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.comparison.yearly_impact import eligible_visitors_a_year
from engine.analysis.results.numbers import (
    Nested,
    intervals,
    no_cells,
    numbers,
    p_values,
    records,
    whole_numbers,
)
from engine.analysis.results.variant_result import (
    Capped,
    Comparison,
    Details,
    FunnelStep,
    Metric,
    Unadjusted,
)
from engine.stats.arrays import BoolArray, FloatArray


def variant_comparisons(data: AnalysisData, significance: Significance) -> Nested:
    """Compare every variant with the control on each goal's metric, goals by variants."""
    chances = adjust_chances(data, significance.effects.chance)
    compared, levels = _are_compared(data.plan), significance.interval_levels
    bounds = absolute_difference_intervals(data, significance)
    return records(
        _comparison,
        _comparison_columns(data.plan, significance)
        | {
            "adjusted_chance_to_beat": numbers(chances, where=compared),
            "absolute_difference_interval": intervals(*bounds, levels, where=compared),
            "sequential_interval": _sequential_intervals(data, significance, compared),
        },
    )


def variant_details(data: AnalysisData, metrics: Nested, revenue_cents: Nested) -> Nested:
    """Compute the details of every result, goals by variants, as are the metrics compared and the revenue."""
    effects = compare_revenue(data)
    conversion, spending = _revenue_parts(data, effects.parts)
    columns = {
        "revenue": _revenue_comparisons(data.plan, effects),
        "conversion_part": conversion,
        "spending_part": spending,
        "unadjusted": _unadjusted(data),
        "capped": _capped(data),
        "per_order": _per_order(data, metrics, revenue_cents),
        "steps": _steps(data),
    }
    return records(Details, columns)


def _unadjusted(data: AnalysisData) -> Nested:
    """Compare without the pre-period what CUPED adjusts."""
    adjusted, cells = data.metrics, no_cells(data.evidence.conversions.shape)
    if not adjusted.is_adjusted.any():
        return cells
    plain = assess_significance(data.without_covariate())
    comparisons = records(_comparison, _comparison_columns(data.plan, plain))
    for goal, variant in np.argwhere(adjusted.is_adjusted[:, None] & _are_compared(data.plan)).tolist():
        cells[goal][variant] = Unadjusted(
            comparison=comparisons[goal][variant],
            status=plain.status[goal, variant].item(),
            variance_reduction=float(adjusted.reduction[goal]),
            covariates=data.evidence.covariates.get(goal, ()),
        )
    return cells


def _capped(data: AnalysisData) -> Nested:
    values, cells = data.evidence.values, no_cells(data.evidence.conversions.shape)
    if values is None:
        return cells
    for goal in np.flatnonzero(np.isfinite(values.caps)).tolist():
        means, yearly = mean_amounts(values)[goal].tolist(), _capped_yearly(data, goal)
        plain = _uncapped(data, goal).tolist()
        cells[goal] = [
            Capped(
                cap=float(values.caps[goal]),
                visitors=visitors,
                mean=means[column],
                uncapped=plain[column],
                projected_annual_revenue_impact_cents=yearly[column],
            )
            for column, visitors in enumerate(values.capped[goal].tolist())
        ]
    return cells


def _capped_yearly(data: AnalysisData, goal: int) -> list[int | None]:
    """Compute each variant's yearly impact of capped amounts; None for the control and but per visitor."""
    values, control = data.evidence.values, data.plan.control
    eligible = eligible_visitors_a_year(data)
    columns = range(len(data.plan.weights))
    is_money = bool(data.plan.is_revenue[goal]) and values is not None and not values.orders.n[goal].any()
    if values is None or control is None or eligible is None or not is_money:
        return [None for _ in columns]
    gaps = values.value.mean[goal] - values.value.mean[goal, control]
    return [None if column == control else round(gaps[column] * eligible) for column in columns]


def _uncapped(data: AnalysisData, goal: int) -> FloatArray:
    """Return each variant's cents per visitor, or per order where the goal is measured so."""
    values, revenue = data.evidence.values, data.evidence.revenue[goal]
    orders = None if values is None else values.orders.x.total[goal]
    if orders is None or not orders.any():
        return revenue.mean
    return np.asarray(revenue.total / np.maximum(orders, 1.0))


def _steps(data: AnalysisData) -> Nested:
    """List the steps of goals that are funnels."""
    cells = no_cells(data.evidence.conversions.shape)
    for goal, funnel in data.evidence.funnels.items():
        cells[goal] = [
            tuple(FunnelStep(name=name, visitors=n) for name, n in zip(funnel.names, by_step, strict=True))
            for by_step in funnel.visitors.T.tolist()
        ]
    return cells


def _per_order(data: AnalysisData, metrics: Nested, revenue_cents: Nested) -> Nested:
    """Describe revenue per order of goals that are compared so: of all orders, without caps."""
    values, cells = data.evidence.values, no_cells(data.evidence.conversions.shape)
    if values is None:
        return cells
    for goal in range(len(cells)):
        if metrics[goal][0].name == "revenue_per_order":
            orders = map(round, values.orders.x.total[goal].tolist())
            cells[goal] = list(map(_of_orders, metrics[goal], revenue_cents[goal], orders))
    return cells


def _of_orders(metric: Metric, revenue_cents: int, orders: int) -> Metric:
    value = revenue_cents / orders if orders else None
    return replace(metric, value=value, n=orders, interval=None, is_partial=False)


def _revenue_parts(data: AnalysisData, parts: RevenueParts | None) -> tuple[Nested, Nested]:
    """List the factors of revenue, conversion rate and spending."""
    if parts is None:
        nothing = no_cells(data.evidence.conversions.shape)
        return nothing, nothing
    return (
        _factor(parts, parts.converted, parts.chance_converted),
        _factor(parts, parts.spent, parts.chance_spent),
    )


def _factor(parts: RevenueParts, improvement: FloatArray, chance: FloatArray) -> Nested:
    """Build one factor's results where the conversion rate has a change."""
    cells = records(Comparison, {"improvement": numbers(improvement), "chance_to_beat": numbers(chance)})
    for goal, variant in np.argwhere(np.isnan(parts.converted)).tolist():
        cells[goal][variant] = None
    return cells


def _comparison_columns(plan: AnalysisPlan, significance: Significance) -> dict[str, Nested]:
    """List what every comparison has, goals by variants under the names of a Comparison's fields."""
    effects, score, compared = significance.effects, significance.score, _are_compared(plan)
    arrays = {
        "improvement": effects.improvement,
        "absolute_difference": effects.difference,
        "log_p_value": effects.log_p,
        "confidence": significance.confidence,
        "score_value": score,
        "score_progress": np.minimum(score / plan.threshold, 1.0),
        "chance_to_beat": effects.chance,
        "expected_loss": effects.loss,
    }
    return {
        **{name: numbers(values, where=compared) for name, values in arrays.items()},
        "p_value": p_values(effects.log_p, where=compared),
        "improvement_interval": intervals(
            effects.low, effects.high, significance.interval_levels, where=compared
        ),
    }


def _revenue_comparisons(plan: AnalysisPlan, revenue: RevenueEffects) -> Nested:
    """Compare every variant's revenue per visitor with the control's, on every goal."""
    compared = _are_compared(plan)
    columns = {
        "improvement": numbers(revenue.lift, where=compared),
        "absolute_difference": numbers(revenue.difference, where=compared),
        "projected_annual_revenue_impact_cents": whole_numbers(revenue.yearly, where=compared),
    }
    return records(Comparison, columns)


def _are_compared(plan: AnalysisPlan) -> BoolArray:
    """Flag the variants besides the control."""
    return np.asarray(np.arange(len(plan.weights)) != plan.control)


def _comparison(**cells: Any) -> Comparison | None:  # noqa: ANN401  # fields of a Comparison
    """Build a comparison with a number; None without any."""
    return None if all(cell is None for cell in cells.values()) else Comparison(**cells)


def _sequential_intervals(data: AnalysisData, significance: Significance, compared: BoolArray) -> Nested:
    monitoring = significance.monitoring
    if monitoring is None:
        return no_cells(significance.gain.shape)
    levels = np.full(significance.gain.shape, 1.0 - data.plan.two_sided_alpha)
    return intervals(monitoring.lift_low, monitoring.lift_high, levels, where=compared)
