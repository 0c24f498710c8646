"""Which arm is best where weights changed: by what arms did within epochs."""

import numpy as np

from engine.analysis.evidence import Evidence
from engine.analysis.metrics import is_revenue
from engine.design.experiment import Experiment
from engine.stats.bayesian.best_arm import best_of_means, best_of_shares
from engine.stats.moments import FloatArray, Moments
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
