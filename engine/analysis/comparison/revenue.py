"""What a difference is worth: the lift of revenue per visitor, and the money it means in a year.

Where a change of revenue comes from: more visitors who pay, or more paid by each of them.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.stratified import revenue_means
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments

DAYS_A_YEAR = 365


def observed_days(evidence: Evidence) -> int:
    """Days from the first to the last with a visitor; 0 where days are not known."""
    seen = np.flatnonzero(evidence.daily.visitors.sum(axis=1))
    if seen.size == 0:
        return 0
    days = evidence.daily.days
    return int((days[seen[-1]] - days[seen[0]]).days) + 1


def revenue_lift(evidence: Evidence, control: int | None) -> FloatArray:
    """Relative change of revenue per visitor against the control, goals by variants.

    NaN without visitors, or where the control brought no revenue.
    """
    if control is None:
        return np.full(evidence.conversions.shape, np.nan)
    return np.where(evidence.visitors > 0, relative_change(*revenue_means(control, evidence)), np.nan)


def revenue_difference(evidence: Evidence, control: int | None) -> FloatArray:
    """Cents per visitor more than the control's, goals by variants; NaN where either has no visitors."""
    if control is None:
        return np.full(evidence.conversions.shape, np.nan)
    base, mean = revenue_means(control, evidence)
    known = np.minimum(evidence.visitors, evidence.visitors[control]) > 0
    return np.where(known, mean - base, np.nan)


def yearly_impact(experiment: Experiment, evidence: Evidence, control: int | None) -> FloatArray:
    """Cents more a year if every eligible visitor got the variant instead of the control.

    Goals by variants. Visitors in the experiment are `traffic_allocation` percent of the eligible ones.
    NaN where there are no visitors, or no days to tell how many come.
    """
    difference, days = revenue_difference(evidence, control), observed_days(evidence)
    if days == 0 or experiment.traffic_allocation == 0:
        return np.full(difference.shape, np.nan)
    eligible = evidence.visitors.sum() * 100 / experiment.traffic_allocation
    return np.asarray(difference * eligible / days * DAYS_A_YEAR)


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


def revenue_parts(evidence: Evidence, control: int, goals: BoolArray) -> RevenueParts:
    """Take revenue apart, for explanation only: a test changes who pays, so `spent` compares unlike people.

    A hurdle model in two parts: Beta posteriors of the conversion rates, normal ones of the mean cents of
    those who converted. (1 + converted) (1 + spent) = 1 + the lift of revenue per visitor. `goals` flags
    those to be taken apart; the others are NaN.
    """
    hits, visitors = evidence.conversions[goals].astype(np.float64), evidence.visitors.astype(np.float64)
    tables = Tables.of(hits[:, [control]], visitors[control], hits, visitors)
    paid = _of_converted(evidence.revenue[goals], hits)
    spent = Estimate.of(paid)
    spent_control = Estimate.of(paid[:, [control]].broadcast_to(hits.shape))
    is_control = np.arange(len(visitors)) == control

    def others(values: FloatArray) -> FloatArray:
        spread = np.full(evidence.conversions.shape, np.nan)
        spread[goals] = np.where(is_control, np.nan, values)
        return spread

    return RevenueParts(
        converted=others(relative_change(tables.control_share, tables.share)),
        spent=others(relative_change(spent_control.value, spent.value)),
        chance_converted=others(posteriors.compare_shares(tables).chance),
        chance_spent=others(posteriors.compare_means(spent_control, spent).chance),
    )


def _of_converted(revenue: Moments, hits: FloatArray) -> Moments:
    """Moments of the cents of visitors who converted: the others brought nothing."""
    n = np.where(revenue.n > 0, hits, 0.0)
    mean = np.divide(revenue.total, n, out=np.zeros(n.shape), where=n > 0)
    # The sum of squares around the mean of all, less what lies between that and the mean of those who paid.
    zeros = revenue.n - n
    m2 = revenue.m2 - zeros * revenue.mean**2 - n * (mean - revenue.mean) ** 2
    return Moments(n, mean, np.where(n > 0, np.maximum(m2, 0.0), 0.0))
