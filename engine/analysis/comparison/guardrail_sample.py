"""Sample of guardrails that must be shown within their margins, and the power to show it.

By goal: `mean` and `variance` of the metric over all visitors; and `shares` of traffic, the control first.
"""

import numpy as np
import scipy

from engine.analysis.comparison.plan import AnalysisPlan
from engine.design.planning import required_sample
from engine.stats.arrays import FloatArray


def power_of_each(plan: AnalysisPlan) -> float:
    """Return the power planned for the primary goal, and for each guardrail to be shown within its margin."""
    shown = int(plan.is_guardrail.sum()) if plan.requires_non_inferiority else 0
    return required_sample.power_of_each(1 + shown)


def guardrail_sample(plan: AnalysisPlan, mean: FloatArray, variance: FloatArray, shares: FloatArray) -> float:
    """Compute the visitors by which every guardrail that must be is shown within its margin, without harm.

    0 where none must be; NaN where no number of visitors is enough, or known. A guardrail that lacks a margin
    is to be reviewed however many there are.
    """
    lacks_margin = plan.is_mean & (plan.margins > 0) & (mean < 0)
    must_be = plan.is_guardrail & ~lacks_margin & plan.requires_non_inferiority
    if not must_be.any() or len(shares) < 2:
        return 0.0
    drift = required_sample.non_inferiority_drift(power_of_each(plan))
    return float(_visitors(plan, mean, variance, shares, drift)[must_be].max())


def guardrail_power(
    plan: AnalysisPlan, mean: FloatArray, variance: FloatArray, shares: FloatArray, visitors: float
) -> FloatArray:
    """Compute the power to show by so many visitors that a guardrail without harm is within its margin.

    NaN for other goals, and where it need not be shown, or is not known.
    """
    if not plan.requires_non_inferiority or len(shares) < 2:
        return np.full(mean.shape, np.nan)
    drift = np.sqrt(visitors / _visitors(plan, mean, variance, shares, 1.0))
    return np.asarray(scipy.special.ndtr(drift - required_sample.NON_INFERIORITY_CRITICAL))


def _visitors(
    plan: AnalysisPlan, mean: FloatArray, variance: FloatArray, shares: FloatArray, drift: float
) -> FloatArray:
    """Compute the visitors that give the mean z `drift` at the margin of each guardrail without harm."""
    is_relative = np.isnan(plan.absolute_margins)
    return required_sample.non_inferiority_visitors(
        variance=variance,
        lost=np.where(is_relative, plan.margins * mean, plan.absolute_margins),
        kept=plan.allowed_by_margin[0][:, 0],
        shares=shares,
        drift=drift,
    )
