"""Intervals of each variant's rate or revenue, and of its absolute difference from the control.

NaN stands where there is no interval.
"""

import numpy as np
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.effects import rate_tables
from engine.analysis.comparison.metrics import metric_moments
from engine.analysis.comparison.quantiles import compare_arms, intervals_of_arms
from engine.analysis.comparison.significance import Significance
from engine.stats.arrays import FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.estimates import Estimate
from engine.stats.frequentist.mean_intervals import mean_interval
from engine.stats.frequentist.miettinen_nurminen import difference_interval
from engine.stats.frequentist.wilson import share_interval

Bounds = tuple[FloatArray, FloatArray]


def rate_intervals(data: AnalysisData) -> Bounds:
    """Compute the interval of every variant's own rate, revenue per visitor or mean, goals by variants.

    As observed, without CUPED, and revenue without caps, two-sided at the experiment's confidence level:
    Wilson's for conversion rates (shares), Student's for revenue per visitor (cents), for other means and for
    all goals by cluster, and by order statistics for quantiles.
    """
    evidence, alpha = data.evidence, data.plan.family_alpha
    low, high = share_interval(evidence.conversions, evidence.trials, alpha)
    is_revenue = data.plan.is_revenue & (not data.plan.in_clusters)
    is_other = data.plan.is_mean & ~is_revenue
    if is_revenue.any():
        low[is_revenue], high[is_revenue] = mean_interval(Estimate.of(evidence.revenue[is_revenue]), alpha)
    if is_other.any() and evidence.values is not None:
        observed = metric_moments(evidence.values)[is_other]
        low[is_other], high[is_other] = mean_interval(Estimate.of(observed), alpha)
    for row, quantile in evidence.quantiles.items():
        low[row], high[row] = intervals_of_arms(quantile, alpha)
    return low, high


def absolute_difference_intervals(data: AnalysisData, significance: Significance) -> Bounds:
    """Compute the interval of every variant's difference from the control, goals by variants.

    At the level of the interval of the improvement and by the same method: Miettinen and Nurminen's for
    shares, Welch's with Hall's correction for means; at the critical value of monitoring where that
    decides; the posterior's for Bayesian experiments. Shares, or cents for revenue.
    """
    if data.pairs is None or data.plan.control is None:
        nothing = np.full(significance.gain.shape, np.nan)
        return nothing, nothing
    if data.plan.is_bayesian:
        return _credible(data, significance)
    alpha, monitoring = 1.0 - significance.interval_levels, significance.monitoring
    if data.plan.statistics.sequential != "none" and monitoring is not None:
        alpha = 2.0 * scipy.special.ndtr(-monitoring.critical)
    return _confidence(data, alpha, data.plan.control)


def _confidence(data: AnalysisData, alpha: FloatArray, control: int) -> Bounds:
    low, high = np.full(alpha.shape, np.nan), np.full(alpha.shape, np.nan)
    is_mean = (data.is_mean | (data.by_epoch is not None))[:, None]
    compared = ~np.isnan(alpha) & (np.arange(alpha.shape[1]) != control)
    shares, means = compared & ~is_mean, compared & is_mean
    if shares.any() and data.pairs is not None:
        low[shares], high[shares] = difference_interval(
            rate_tables(data.evidence, control)[shares], alpha[shares]
        )
    if means.any() and data.pairs is not None:
        low[means], high[means] = data.pairs[means].difference_interval(alpha[means])
    for row, quantile in data.evidence.quantiles.items():
        found, here = compare_arms(quantile, control, alpha[row]), compared[row]
        low[row, here], high[row, here] = found.low[here], found.high[here]
    return low, high


def _credible(data: AnalysisData, significance: Significance) -> Bounds:
    """Bound the posterior difference, leaving out as much on each side as the improvement's interval."""
    plan, pairs, effects = data.plan, data.pairs, significance.effects
    if pairs is None or plan.control is None:
        raise ValueError("a difference needs a control")
    if plan.lift_prior is not None:
        return effects.low * pairs.control.value, effects.high * pairs.control.value
    low, high = posteriors.mean_difference(pairs.control, pairs.variant, plan.comparison_alpha)
    is_share = ~(data.is_mean | (data.by_epoch is not None))
    if is_share.any():
        shapes = data.beta_priors[is_share, :1], data.beta_priors[is_share, 1:]
        tables = rate_tables(data.evidence, plan.control)[is_share]
        low[is_share], high[is_share] = posteriors.share_difference(tables, plan.comparison_alpha, shapes)
    is_compared = (np.arange(low.shape[1]) != plan.control) & ~np.isnan(effects.chance)
    return np.where(is_compared, low, np.nan), np.where(is_compared, high, np.nan)
