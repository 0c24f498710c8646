"""Results of each variant on each goal, out of the arrays: None where there is no number."""

from typing import Any

import numpy as np

from engine.analysis.comparison.absolute_intervals import rate_intervals
from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.best_variant import chances_to_be_best
from engine.analysis.comparison.metrics import have_means, mean_amounts
from engine.analysis.comparison.significance import Significance
from engine.analysis.report.missing_reasons import missing_reasons
from engine.analysis.report.variant_details import variant_comparisons, variant_details
from engine.analysis.results.numbers import Nested, intervals, no_cells, numbers, records, whole_numbers
from engine.analysis.results.variant_result import Metric, MetricName, VariantResult


def variant_results(
    data: AnalysisData, significance: Significance, *, currency: str
) -> tuple[tuple[VariantResult, ...], ...]:
    """Build every variant's result, a row a goal; the control's has counts and details only.

    `currency` is that of goals without their own.
    """
    evidence, totals, variants = data.evidence, data.evidence.totals, data.experiment.variants
    bounds, (goals, width) = _own_intervals(data), evidence.conversions.shape
    of_variants: dict[str, list[Any]] = {
        "variant_id": [variant.id for variant in variants],
        "variant_name": [variant.name for variant in variants],
        "is_control": [column == data.plan.control for column in range(width)],
        "visitors": evidence.visitors.tolist(),
        "sample_ratio_expected": data.expected_shares.tolist(),
    }
    metrics, revenue_cents = _metrics_compared(data, bounds, currency), whole_numbers(totals.revenue.total)
    columns = {
        **{name: [values] * goals for name, values in of_variants.items()},
        "conversions": totals.conversions.tolist(),
        "revenue_cents": revenue_cents,
        "clusters": evidence.clusters.known.tolist() if evidence.clusters else no_cells((goals, width)),
        "metric": metrics,
        "revenue": _revenue_per_visitor(data, bounds, currency),
        "status": significance.status.tolist(),
        "comparison": variant_comparisons(data, significance),
        "reason": missing_reasons(data, significance),
        "chance_to_be_best": numbers(chances_to_be_best(data)),
        "details": variant_details(data, metrics, revenue_cents),
    }
    return tuple(map(tuple, records(VariantResult, columns)))


def _own_intervals(data: AnalysisData) -> Nested:
    """Compute the interval of every variant alone, goals by variants."""
    low, high = rate_intervals(data)
    return intervals(low, high, np.full(low.shape, 1.0 - data.plan.family_alpha))


def _metrics_compared(data: AnalysisData, bounds: Nested, currency: str) -> Nested:
    """Describe what each goal compares, goals by variants; `currency` is that of goals without their own."""
    evidence, values, nothing = data.evidence, _values(data), no_cells(data.evidence.trials.shape)
    is_partial = (evidence.trials != evidence.visitors).any(axis=1).tolist()
    return [
        _row(
            (values[row], evidence.trials[row].tolist(), (nothing if goal.unit == "cents" else bounds)[row]),
            name=_name(data, row),
            unit=goal.unit,
            currency=goal.currency(currency),
            is_partial=is_partial[row],
        )
        for row, goal in enumerate(data.experiment.goals)
    ]


def _revenue_per_visitor(data: AnalysisData, bounds: Nested, currency: str) -> Nested:
    """Describe revenue per visitor without caps in the same way, with its interval on goals of revenue."""
    means, nothing = data.evidence.totals.revenue.mean.tolist(), no_cells(data.evidence.trials.shape)
    visitors = data.evidence.visitors.tolist()
    return [
        _row(
            (means[row], visitors, (bounds if goal.unit == "cents" else nothing)[row]),
            name="revenue_per_visitor",
            unit="cents",
            currency=goal.currency(currency),
        )
        for row, goal in enumerate(data.experiment.goals)
    ]


def _row(columns: tuple[Nested, Nested, Nested], **of_goal: Any) -> list[Metric]:  # noqa: ANN401  # of a Metric
    """Build the metric of each variant of a goal from its values, counts and intervals."""
    cells = zip(*columns, strict=True)
    return [Metric(value=value, n=n, interval=bounds, **of_goal) for value, n, bounds in cells]


def _name(data: AnalysisData, row: int) -> MetricName:
    goal, evidence = data.experiment.goals[row], data.evidence
    if goal.unit == "cents":
        has_orders = evidence.values is not None and bool(evidence.values.orders.n[row].any())
        is_per_order = goal.measure.is_per_order and has_orders
        return "revenue_per_order" if is_per_order else "revenue_per_visitor"
    is_so_far = data.plan.known_after[row] > 0 and (evidence.trials[row] != evidence.visitors).any()
    return "mean" if goal.measure.has_mean or is_so_far else "conversion_rate"


def _values(data: AnalysisData) -> Nested:
    """List the values of what each goal compares; None where a mean is not known."""
    evidence, goals = data.evidence, data.experiment.goals
    amounts = evidence.revenue.mean if evidence.values is None else mean_amounts(evidence.values)
    shares = evidence.conversions / np.maximum(evidence.trials, 1)
    rates = evidence.totals.conversions / np.maximum(evidence.visitors, 1)
    is_known = evidence.trials > 0
    if evidence.values is not None:
        is_known &= have_means(evidence.values)
    means = np.where(is_known, np.where(data.plan.is_mean[:, None], amounts, shares), np.nan)
    by_name = {"mean": means, "revenue_per_order": means, "conversion_rate": rates}
    return [numbers(by_name.get(_name(data, row), amounts)[row]) for row in range(len(goals))]
