"""Post-stratification by weight epoch, and Thompson weights.

An epoch is a stretch of time with constant weights. Arrays have epochs along the first axis.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants

# The least weight of an arm, as a share of an even split: below it intervals cover less than promised.
FLOOR = 0.2
# With fewer conversions, or non-conversions, the variance within an epoch is too noisy.
FEW_ACTIVE = 25


@dataclass(frozen=True, slots=True)
class Stratified:
    """Means of a control and a variant over the epochs in which both had visitors.

    `cumulants` are those of the two means, and `covered` is the share of the two arms' visitors who came in
    those epochs.
    """

    control: Estimate
    variant: Estimate
    cumulants: PooledCumulants
    covered: FloatArray


def stratify(control: Moments, variant: Moments) -> Stratified:
    """Compare within epochs and average over them, so that changing weights favour no arm.

    Estimates the mean of each arm had every visitor of the covered epochs been assigned to it. Each epoch's
    means count by its share of visitors, w_e = n_e / sum n, whatever the arms' shares in it: mean = sum w_e
    mean_e, variance = sum w_e² s_e² / n_e (post-stratification, Cochran (1977), "Sampling Techniques",
    section 5A.9). Pooling over epochs would confound arms with days, as in Simpson's paradox. Within an
    epoch the split does not depend on its outcomes, so the estimate is unbiased though weights follow
    earlier ones; with a floor under the weights it is asymptotically normal: Zhang, Janson and Murphy
    (2020), "Inference for batched bandits", NeurIPS 33.
    """
    usable = (control.n > 1) & (variant.n > 1)
    share, covered = _shares(control.n + variant.n, usable)
    return Stratified(
        control=_averaged(control, share, usable),
        variant=_averaged(variant, share, usable),
        cumulants=PooledCumulants.of(control, variant).averaged(share),
        covered=covered,
    )


def stratify_arms(arms: Moments) -> tuple[Estimate, FloatArray]:
    """Post-stratify all arms along the last axis, over the epochs in which each had visitors.

    Also returns each arm's effective sample size, 1 / sum(w_e² / n_e), as in Kish (1965), "Survey
    Sampling", section 11.7.
    """
    usable = np.broadcast_to((arms.n > 1).all(axis=-1, keepdims=True), arms.n.shape)
    share, _ = _shares(np.broadcast_to(arms.n.sum(axis=-1, keepdims=True), arms.n.shape), usable)
    noise = np.divide(share**2, arms.n, out=np.zeros_like(share), where=usable).sum(axis=0)
    size = np.divide(1.0, noise, out=np.zeros_like(noise), where=noise > 0)
    return _averaged(arms, share, usable), size


def thompson_weights(chance_best: npt.ArrayLike, *, floor: float = FLOOR) -> FloatArray:
    """Compute the next weights, adding up to 1: each arm's probability to be best, over a floor.

    w_k = f/K + (1 - f) · chance_k over K arms along the last axis: Thompson (1933), Biometrika 25, mixed
    with an even split of share `floor`, so that every arm keeps visitors and inference stays possible.
    """
    if not 0 <= floor <= 1:
        raise ValueError(f"floor is a share of an even split, from 0 to 1; got {floor}")
    chance = np.asarray(chance_best, np.float64)
    total = chance.sum(axis=-1, keepdims=True)
    even = 1.0 / chance.shape[-1]
    share = np.divide(chance, total, out=np.full(chance.shape, even), where=total > 0)
    return np.asarray(floor * even + (1.0 - floor) * share)


def _shares(visitors: FloatArray, usable: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Share of each usable epoch among the visitors of usable epochs, and of these among all visitors."""
    counted = np.where(usable, visitors, 0.0)
    total, everyone = counted.sum(axis=0), visitors.sum(axis=0)
    share = np.divide(counted, total, out=np.zeros_like(counted), where=total > 0)
    return share, np.divide(total, everyone, out=np.zeros_like(total), where=everyone > 0)


def _averaged(arm: Moments, share: FloatArray, usable: BoolArray) -> Estimate:
    some = usable.any(axis=0)
    variance = np.divide(_spread(arm, usable), arm.n, out=np.zeros_like(arm.m2), where=usable)
    return Estimate(
        value=np.where(some, (share * arm.mean).sum(axis=0), np.nan),
        variance=np.where(some, (share**2 * variance).sum(axis=0), np.nan),
        n=np.where(usable, arm.n, 0.0).sum(axis=0),
    )


def _spread(arm: Moments, usable: BoolArray) -> FloatArray:
    """Variance per visitor in each epoch, or within all epochs where an epoch has too few events.

    An epoch with few conversions, or few non-conversions, takes the larger of the two variances: ten visitors
    without a conversion do not show a variance of 0, and an epoch is weighted by the visitors of both arms.
    The number of active visitors is (sum y)² / sum y², for ones and zeros their sum (Kish (1965), "Survey
    Sampling", section 11.7).
    """
    squares = arm.m2 + arm.n * arm.mean**2
    active = np.divide(arm.total**2, squares, out=np.zeros_like(squares), where=squares > 0)
    few = np.minimum(active, arm.n - active) < FEW_ACTIVE
    left = np.where(usable, arm.n - 1.0, 0.0).sum(axis=0)
    within = np.divide(
        np.where(usable, arm.m2, 0.0).sum(axis=0), left, out=np.zeros_like(left), where=left > 0
    )
    return np.where(few, np.maximum(arm.variance, within), arm.variance)
