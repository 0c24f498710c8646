"""Where a change of revenue comes from: more visitors who pay, or more paid by each of them."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.effects import relative_change
from engine.analysis.evidence import Evidence
from engine.stats.bayesian import posteriors
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import BoolArray, FloatArray, Moments


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
