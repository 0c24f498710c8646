"""Chance of each variant, the control among them, to be the best one."""

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.best_arm import best_of_means, best_of_shares
from engine.stats.bayesian.best_arm_lift_prior import best_of_lifts
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.stratification import stratify_arms


def chance_best(strata: Moments, *, money: bool, wanted: float = 1.0) -> FloatArray:
    """Compute each arm's chance to be best, from moments by epoch (first axis) and arm (last).

    Shares have the Beta posterior of a plain sample of their effective size, from a flat prior; money per
    visitor a normal one. `wanted` is -1 where less is better. An arm without any variation yet, as where
    no visitor bought, has the uncertainty of all arms together; NaN where nothing varies at all.
    """
    arms, size = stratify_arms(strata)
    value = np.where(arms.defined, arms.value, 0.0)
    if not money:
        hits = np.clip(value, 0.0, 1.0) * size
        return best_of_shares(hits if wanted > 0 else size - hits, size).chance
    everyone = strata.sum_over(0)
    spread = everyone.m2.sum(axis=-1, keepdims=True) / np.maximum(
        everyone.n.sum(axis=-1, keepdims=True) - 1.0, 1.0
    )
    together = np.divide(spread, size, out=np.full(size.shape, np.nan), where=size > 0)
    variance = np.where(arms.variance > 0, arms.variance, together)
    return best_of_means(wanted * value, np.where(variance > 0, variance, np.nan)).chance


def chances_to_be_best(data: AnalysisData) -> FloatArray:
    """Compute the chance of each variant to be the best of all on each goal, goals by variants.

    Beta posteriors of conversion rates, normal ones of means; where a goal wants less, the lowest is best.
    Under a prior on the lift, by the posteriors of the lifts. Where weights changed, from flat priors
    and means within epochs. NaN for a goal on which a variant has no visitors.
    """
    plan, visitors = data.plan, data.evidence.visitors
    if visitors.size == 0 or not visitors.all():
        return np.full(data.evidence.conversions.shape, np.nan)
    if data.by_epoch is not None:
        return np.stack(
            [
                chance_best(data.by_epoch[:, goal], money=bool(is_mean), wanted=float(wanted))
                for goal, (is_mean, wanted) in enumerate(zip(data.is_mean, plan.wanted[:, 0], strict=True))
            ]
        )
    estimates = Estimate.of(data.metrics.moments) if data.pairs is None else data.pairs.variant
    if plan.lift_prior is not None and plan.control is not None:
        return best_of_lifts(
            estimates,
            plan.control,
            prior_mean=plan.lift_prior.mean,
            prior_deviation=plan.lift_prior.deviation,
            wanted=plan.wanted,
        )
    return _by_posteriors(data, estimates)


def _by_posteriors(data: AnalysisData, estimates: Estimate) -> FloatArray:
    """Compute the chances from each variant's own posterior."""
    evidence, wanted, is_mean = data.evidence, data.plan.wanted, data.is_mean
    chances = np.full(evidence.conversions.shape, np.nan)
    if is_mean.any():
        values, variances = (wanted * estimates.value)[is_mean], estimates.variance[is_mean]
        chances[is_mean] = best_of_means(values, variances).chance
    if (~is_mean).any():
        hits = np.where(wanted > 0, evidence.conversions, evidence.trials - evidence.conversions)
        shapes = np.where(wanted > 0, data.beta_priors, data.beta_priors[:, ::-1])
        for shape in np.unique(shapes[~is_mean], axis=0):
            rows = ~is_mean & (shapes == shape).all(axis=1)
            prior = float(shape[0]), float(shape[1])
            chances[rows] = best_of_shares(hits[rows], evidence.trials[rows], prior=prior).chance
    return chances
