"""Unadjusted, capped, per-order and factored results of each variant, as columns of results."""

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.best_variant import chances_to_be_best
from engine.analysis.comparison.metrics import Metrics, mean_amounts
from engine.analysis.comparison.revenue import RevenueParts
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.comparison.yearly_impact import eligible_visitors_a_year
from engine.analysis.results.numbers import Nested, intervals, no_cells, numbers, p_values
from engine.analysis.results.variant_result import Capped, FunnelStep, RevenuePart, Unadjusted
from engine.stats.arrays import FloatArray


def detail_columns(data: AnalysisData, parts: RevenueParts | None) -> dict[str, Nested]:
    """Compute the details of every result, goals by variants under the names of VariantResult's fields."""
    conversion, spending = _revenue_parts(data, parts)
    return {
        "chance_to_be_best": numbers(chances_to_be_best(data)),
        "orders": _orders(data),
        "unadjusted": _unadjusted(data),
        "capped": _capped(data),
        "steps": _steps(data),
        "conversion_part": conversion,
        "spending_part": spending,
    }


def _unadjusted(data: AnalysisData) -> Nested:
    """Compare without the pre-period what CUPED adjusts."""
    if not data.metrics.is_adjusted.any():
        return no_cells(data.evidence.conversions.shape)
    return _without_adjustment(data, assess_significance(data.without_covariate()), data.metrics)


def _without_adjustment(data: AnalysisData, plain: Significance, adjusted: Metrics) -> Nested:
    effects = plain.effects
    compared = adjusted.is_adjusted[:, None] & (np.arange(len(data.plan.weights)) != data.plan.control)
    improvement, score = numbers(effects.improvement), numbers(plain.score)
    p_value = p_values(effects.log_p, where=compared)
    bounds = intervals(effects.low, effects.high, plain.interval_levels, where=compared)
    cells = no_cells(compared.shape)
    for goal, variant in np.argwhere(compared).tolist():
        cells[goal][variant] = Unadjusted(
            improvement=improvement[goal][variant],
            improvement_interval=bounds[goal][variant],
            p_value=p_value[goal][variant],
            score_value=score[goal][variant],
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
        cells[goal] = [
            Capped(
                cap=float(values.caps[goal]),
                visitors=visitors,
                mean=means[column],
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


def _steps(data: AnalysisData) -> Nested:
    """List the steps of goals that are funnels."""
    cells = no_cells(data.evidence.conversions.shape)
    for goal, funnel in data.evidence.funnels.items():
        cells[goal] = [
            tuple(map(_funnel_step, funnel.names, by_step)) for by_step in funnel.visitors.T.tolist()
        ]
    return cells


def _funnel_step(name: str, visitors: int) -> FunnelStep:
    return FunnelStep(name=name, visitors=visitors)


def _orders(data: AnalysisData) -> Nested:
    values, cells = data.evidence.values, no_cells(data.evidence.conversions.shape)
    if values is None:
        return cells
    for goal, measured in enumerate(data.experiment.goals):
        if not measured.measure.is_per_order or not values.orders.n[goal].any():
            continue
        cells[goal] = [round(orders) for orders in values.orders.x.total[goal].tolist()]
    return cells


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
    rows = zip(np.isnan(parts.converted).tolist(), numbers(improvement), numbers(chance), strict=True)
    return [
        [
            None if is_missing else RevenuePart(improvement=change, chance_to_beat=chance_to_beat)
            for is_missing, change, chance_to_beat in zip(*row, strict=True)
        ]
        for row in rows
    ]
