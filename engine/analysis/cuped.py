"""What is left of a metric once what visitors did before the experiment is taken into account."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis.comoments import PairedMoments
from engine.analysis.estimates import Estimate
from engine.analysis.moments import Moments
from engine.analysis.tails import log_p_normal

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A metric after adjustment: `moments` compare like any other, with less variance.

    `theta` is how much of the metric goes with one unit of the covariate and `reduction` the share of the
    variance within arms that is gone, in [0, 1]; both without the axis of arms, 0 where there is nothing
    to gain.
    """

    moments: Moments
    theta: FloatArray
    reduction: FloatArray


def adjust(paired: PairedMoments, *, axis: int = -1, without: Moments | None = None) -> Adjusted:
    """Adjust y by the covariate x over the arms along `axis`.

    Each visitor's y becomes y - theta (x - mean of x over all arms), theta = sum of the arms' co-moments /
    sum of their m2 of x: the slope within arms, the same for all, so that the difference of two adjusted
    means estimates the same effect and equals that of an analysis of covariance. Deng, Xu, Kohavi and
    Walker (2013), "Improving the sensitivity of online controlled experiments by utilizing pre-experiment
    data", WSDM. The slope costs one degree of freedom, which widens m2.

    x has to be fixed before the first exposure. `without` are the moments of y of visitors who have no x
    (new ones): they stay as they are and are merged with the adjusted. The uncertainty of the mean of x
    itself is left out: it moves all arms together, and a lift only by lift times that.
    """
    co, m2_x = paired.co.sum(axis=axis), paired.m2_x.sum(axis=axis)
    theta = np.divide(co, m2_x, out=np.zeros_like(co), where=m2_x > 0)
    slope = np.expand_dims(theta, axis)
    centre = np.expand_dims(paired.sum_over(axis).mean_x, axis)
    mean = np.where(paired.n > 0, paired.mean_y - slope * (paired.mean_x - centre), 0.0)
    m2 = np.maximum(paired.m2_y - 2.0 * slope * paired.co + slope**2 * paired.m2_x, 0.0)
    adjusted, raw = Moments(paired.n, mean, m2 * _for_the_slope(paired.n, axis)), paired.y
    if without is not None:
        adjusted, raw = adjusted.merge(without), raw.merge(without)
    before, after = raw.m2.sum(axis=axis), adjusted.m2.sum(axis=axis)
    left = np.divide(after, before, out=np.ones_like(before), where=before > 0)
    return Adjusted(adjusted, theta, np.clip(1.0 - left, 0.0, 1.0))


def log_p_before(paired: PairedMoments, *, control: int = 0, axis: int = -1) -> FloatArray:
    """Whether the arms differed before anybody saw anything: log p of each arm's x against the control's.

    An A/A test on the covariate, normal and two-sided; NaN for the control itself and where nothing
    varies. A small p means that the arms were not alike to begin with, so the adjusted result is suspect.
    """
    before = Estimate.of(paired.x)
    baseline = Estimate(
        *(np.take(part, [control], axis=axis) for part in (before.value, before.variance, before.n))
    )
    z = before.minus(baseline).z
    is_control = np.arange(z.shape[axis]) == control
    shape = [1] * z.ndim
    shape[axis] = -1
    return log_p_normal(np.where(is_control.reshape(shape), np.nan, z))


def _for_the_slope(n: FloatArray, axis: int) -> FloatArray:
    """Degrees of freedom before over after estimating one slope: N - arms over N - arms - 1."""
    left: FloatArray = (n - (n > 0)).sum(axis=axis, keepdims=True)
    return np.divide(left, left - 1.0, out=np.ones_like(left), where=left > 1)
