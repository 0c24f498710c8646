"""Yearly revenue impact of a variant, with its interval, corrected for its selection."""

import math
from dataclasses import dataclass

import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.revenue import DAYS_A_YEAR
from engine.analysis.results.report import YearlyImpact
from engine.stats.estimates import Estimate
from engine.stats.frequentist.conditional_likelihood import correct_selected


@dataclass(frozen=True, slots=True)
class Selection:
    """Statistic by which a variant was chosen: `z`, in the wanted direction, and its critical value."""

    z: float
    critical: float


def yearly_impact(
    data: AnalysisData, row: int, column: int, selection: Selection | None
) -> YearlyImpact | None:
    """Estimate the yearly impact of a variant, by the goal's metric where that is revenue per visitor.

    So caps apply, and the pre-period's adjustment. On a goal of conversions, or of revenue per order, it is
    the recorded revenue. With a `selection`, z is replaced by its estimate given the selection
    (`conditional_likelihood.correct_selected`), and revenue follows by its correlation with z within
    variants; 1, which corrects most, where the metric is revenue. None without two arms, days or traffic.
    """
    gap = _difference(data, row, column)
    eligible = eligible_visitors_a_year(data)
    if gap is None or eligible is None:
        return None
    difference, error = gap
    alpha = data.plan.family_alpha
    critical = float(-scipy.special.ndtri(alpha / 2.0))
    low, high, is_shrunk = difference - critical * error, difference + critical * error, False
    if selection is not None and abs(selection.z) > 0:
        given = correct_selected(selection.z, selection.critical, alpha)
        shared = float(data.plan.wanted[row, 0]) * _correlation(data, row)
        rest = critical * error * math.sqrt(max(1.0 - shared**2, 0.0))
        moved = [shared * error * (selection.z - mean) for mean in (given.low, given.high)]
        low, high = difference - max(moved) - rest, difference - min(moved) + rest
        difference, is_shrunk = difference - shared * error * (selection.z - given.estimate), True
    return YearlyImpact(difference * eligible, low * eligible, high * eligible, 1.0 - alpha, is_shrunk)


def eligible_visitors_a_year(data: AnalysisData) -> float | None:
    """Return the visitors a year that the experiment could reach; None without days, traffic or visitors."""
    allocation, visitors = data.allocation, int(data.evidence.visitors.sum())
    if not data.days or not allocation or not visitors:
        return None
    return visitors * 100 / allocation / data.days * DAYS_A_YEAR


def _difference(data: AnalysisData, row: int, column: int) -> tuple[float, float] | None:
    """Return the difference in cents per visitor and its standard error; None where there is none."""
    control = data.plan.control
    if control is None or data.pairs is None:
        return None
    if is_revenue_per_visitor(data, row):
        base, variant = data.pairs.control[row, column], data.pairs.variant[row, column]
    elif data.by_epoch is None:
        revenue = Estimate.of(data.evidence.revenue[row])
        base, variant = revenue[control], revenue[column]
    else:
        return None
    error = math.sqrt(max(float(base.variance + variant.variance), 0.0))
    difference = float(variant.value - base.value)
    return (difference, error) if math.isfinite(difference) and error > 0 else None


def is_revenue_per_visitor(data: AnalysisData, row: int) -> bool:
    """Whether the goal's metric is revenue per visitor."""
    return bool(data.plan.is_revenue[row]) and data.experiment.goals[row].tracking.get("per") != "order"


def _correlation(data: AnalysisData, row: int) -> float:
    """Compute the correlation of revenue with converting, over all visitors; 1 on revenue goals.

    Without a conversion there is no revenue, so that it is m sqrt((1 - p) / p) / sd.
    """
    if data.plan.is_revenue[row]:
        return 1.0
    revenue, visitors = data.evidence.revenue[row].sum_over(-1), float(data.evidence.known_outcomes(row))
    rate = float(data.evidence.conversions[row].sum()) / visitors
    deviation = math.sqrt(float(revenue.variance))
    if not 0 < rate < 1 or deviation <= 0:
        return 1.0
    return max(min(float(revenue.mean) * math.sqrt((1.0 - rate) / rate) / deviation, 1.0), -1.0)
