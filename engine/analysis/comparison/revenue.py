"""Revenue effects: lift of revenue per visitor, yearly impact, and its two factors."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.stratified import revenue_means
from engine.analysis.evidence.evidence import Evidence
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments

DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class RevenueParts:
    """Revenue per visitor = conversion rate x revenue per converted visitor, goals by variants.

    `converted` is the relative change of the first factor, `spent` that of the second; `chance_converted`
    and `chance_spent` are the chances that they are higher than the control's, under flat priors. NaN where
    there is no number, and in the control's column.
    """

    converted: FloatArray
    spent: FloatArray
    chance_converted: FloatArray
    chance_spent: FloatArray


@dataclass(frozen=True, slots=True)
class RevenueEffects:
    """Revenue per visitor against the control's, goals by variants; NaN where there is no number.

    `lift` is relative; it is NaN where the control has no revenue. `difference` is in cents per visitor,
    and `yearly` in cents a year if every eligible visitor got the variant instead of the control: visitors
    in the experiment are `allocation` percent of the eligible ones. `parts` are the two factors of
    revenue goals; None without one, where weights changed, which mixes the factors up, and by cluster.
    """

    lift: FloatArray
    difference: FloatArray
    yearly: FloatArray
    parts: RevenueParts | None = None


def compare_revenue(data: AnalysisData) -> RevenueEffects:
    """Compare each variant's revenue per visitor with the control's."""
    evidence, control = data.evidence, data.plan.control
    nothing = np.full(evidence.conversions.shape, np.nan)
    if control is None:
        return RevenueEffects(nothing, nothing, nothing)
    base, mean = revenue_means(control, evidence)
    have_visitors = np.minimum(evidence.trials, evidence.trials[:, [control]]) > 0
    difference = np.where(have_visitors, mean - base, np.nan)
    allocation = data.allocation
    yearly = nothing
    if data.days > 0 and allocation > 0:
        eligible = evidence.visitors.sum() * 100 / allocation
        yearly = np.asarray(difference * eligible / data.days * DAYS_A_YEAR)
    lift = np.where(evidence.trials > 0, relative_change(base, mean), np.nan)
    is_revenue = data.plan.is_revenue
    has_parts = is_revenue.any() and data.by_epoch is None and not data.plan.in_clusters
    parts = split_revenue(evidence, control, is_revenue) if has_parts else None
    return RevenueEffects(lift, difference, yearly, parts)


def split_revenue(evidence: Evidence, control: int, goals: BoolArray) -> RevenueParts:
    """Split revenue into its factors, for explanation only: variants change which visitors pay.

    A hurdle model in two parts: Beta posteriors of the conversion rates, normal ones of the mean cents of
    converted visitors. (1 + converted) (1 + spent) = 1 + the lift of revenue per visitor. `goals` flags
    those to be split; the others are NaN.
    """
    hits, visitors = evidence.conversions[goals].astype(np.float64), evidence.trials[goals].astype(np.float64)
    tables = Tables.of(hits[:, [control]], visitors[:, [control]], hits, visitors)
    paid = _of_converted(evidence.revenue[goals], hits)
    spent = Estimate.of(paid)
    spent_control = Estimate.of(paid[:, [control]].broadcast_to(hits.shape))
    is_control = np.arange(hits.shape[1]) == control

    def challengers(values: FloatArray) -> FloatArray:
        spread = np.full(evidence.conversions.shape, np.nan)
        spread[goals] = np.where(is_control, np.nan, values)
        return spread

    return RevenueParts(
        converted=challengers(relative_change(tables.control_share, tables.share)),
        spent=challengers(relative_change(spent_control.value, spent.value)),
        chance_converted=challengers(posteriors.compare_shares(tables).chance),
        chance_spent=challengers(posteriors.compare_means(spent_control, spent).chance),
    )


def _of_converted(revenue: Moments, hits: FloatArray) -> Moments:
    """Take the moments of cents of converted visitors: the others have no revenue."""
    n = np.where(revenue.n > 0, hits, 0.0)
    mean = np.divide(revenue.total, n, out=np.zeros(n.shape), where=n > 0)
    # The sum of squares around the mean of all, less what lies between that and the mean of those who paid.
    zeros = revenue.n - n
    m2 = revenue.m2 - zeros * revenue.mean**2 - n * (mean - revenue.mean) ** 2
    return Moments(n, mean, np.where(n > 0, np.maximum(m2, 0.0), 0.0))
