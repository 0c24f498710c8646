"""Every arm's chance to be the best one, the control among them.

Which arm is best where weights changed: by what arms did within epochs.
"""

import numpy as np

from engine.analysis.comparison.effects import beta_priors, has_lift_prior
from engine.analysis.comparison.metrics import (
    control_column,
    is_revenue,
    metrics_of,
    wanted_directions,
)
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.best_arm import best_of_means, best_of_shares
from engine.stats.bayesian.best_arm_lift_prior import best_of_lifts
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.stratification import stratify_arms


def chance_best(strata: Moments, *, money: bool, wanted: float = 1.0) -> FloatArray:
    """Each arm's chance to be best, from moments by epoch (first axis) and arm (last).

    Shares have the Beta posterior of a plain sample of their effective size, from a flat prior; money per
    visitor a normal one. `wanted` is -1 where less is better. An arm of which nothing varies yet, as where
    nobody bought, is as uncertain as all arms are together; NaN where nothing varies at all.
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


def goal_by_epoch(experiment: Experiment, evidence: Evidence, goal: int) -> Moments:
    """Moments per visitor of one goal's metric, epochs by variants; one epoch where nothing ever moved."""
    epochs = evidence.epochs
    if is_revenue(experiment)[goal]:
        return evidence.revenue[goal][None] if epochs is None else epochs.revenue[:, goal]
    if epochs is None:
        return Moments.of_shares(evidence.conversions[goal][None], evidence.visitors[None])
    return Moments.of_shares(epochs.conversions[:, goal], epochs.visitors)


def chances_to_be_best(experiment: Experiment, evidence: Evidence) -> FloatArray:
    """The chance of each variant to be the best of all on each goal, goals by variants.

    Beta posteriors of conversion rates, normal ones of means; where a goal wants less, the lowest is best.
    Under a prior on the lift, by what it makes of every variant's. Where weights changed, from flat priors
    and means within epochs.
    NaN for a goal on which an arm has no visitors: nobody is best before everybody was seen.
    """
    metrics, wanted = metrics_of(experiment, evidence), wanted_directions(experiment)
    means = is_revenue(experiment) | metrics.is_adjusted
    chances = np.full(evidence.conversions.shape, np.nan)
    if evidence.visitors.size == 0 or not evidence.visitors.all():
        return chances
    if evidence.epochs is not None:
        return np.stack(
            [
                chance_best(
                    goal_by_epoch(experiment, evidence, goal),
                    money=bool(means[goal]),
                    wanted=float(wanted[goal, 0]),
                )
                for goal in range(len(chances))
            ]
        )
    estimates = Estimate.of(metrics.moments)
    control = control_column(experiment)
    if has_lift_prior(experiment) and control is not None:
        statistics = experiment.statistics
        return best_of_lifts(
            estimates,
            control,
            prior_mean=statistics.prior_lift_percent / 100,
            prior_deviation=statistics.prior_deviation_percent / 100,
            wanted=wanted,
        )
    if means.any():
        chances[means] = best_of_means((wanted * estimates.value)[means], estimates.variance[means]).chance
    if (~means).any():
        hits = np.where(wanted > 0, evidence.conversions, evidence.visitors - evidence.conversions)
        priors = beta_priors(experiment, evidence)
        shapes = np.where(wanted > 0, priors, priors[:, ::-1])
        for shape in np.unique(shapes[~means], axis=0):
            rows = ~means & (shapes == shape).all(axis=1)
            prior = float(shape[0]), float(shape[1])
            chances[rows] = best_of_shares(hits[rows], evidence.visitors, prior=prior).chance
    return chances
