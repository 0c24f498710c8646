"""Probability to be best under a normal prior on every variant's lift."""

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.bayesian.best_arm import best_of_means
from engine.stats.estimates import Estimate

# The control's mean is searched for among so many steps within eight standard errors of its estimate, and
# integrated over by Gauss-Hermite nodes around its posterior: so many, or fewer where
# many goals and pairs of arms would take seconds.
_STEPS, _FAR = 401, 8.0
_MOST_NODES, _FEWEST_NODES = 24, 4
_NODES_TIMES_PAIRS = 12_000
# The control has a lift of exactly 0: its deviation is this much below the smallest of the variants.
_CERTAIN = 1e-6
# Standard errors below this share of the control's mean count as 0.
_LEAST_ERROR = 1e-9


def best_of_lifts(
    arms: Estimate, control: int, *, prior_mean: float, prior_deviation: float, wanted: FloatArray
) -> FloatArray:
    """Compute each arm's probability, along the last axis, to have the highest lift; the control's lift is 0.

    The model of `priors.update_lift` for several variants: lift_i ~ N(prior) each by itself, and the
    control's mean c flat. Given c every lift is normal, its precision 1/deviation² + c²/v_i; c is
    integrated out. Flat in c and in lifts would draw c towards 0 by a factor 1/c a variant; of several
    variants the geometric mean of these counts, so that it is the same however many there are.
    `wanted` is a column of 1, or -1 where the lowest lift is best. NaN where the control is not above 0 or
    nothing varies, and for arms without an estimate, which are left out.
    """
    base, noise = arms.value[:, [control]], arms.variance[:, [control]]
    others = (np.arange(arms.value.shape[1]) != control) & arms.defined
    varies = np.where(others, arms.variance, 0.0).max(axis=-1, keepdims=True) + np.nan_to_num(noise) > 0
    usable = (np.nan_to_num(base) > 0) & np.isfinite(noise) & varies & others.any(axis=-1, keepdims=True)
    base = np.where(usable, base, 1.0)
    floor = (_LEAST_ERROR * base) ** 2
    value = np.where(others, arms.value, base)
    variance = np.maximum(np.where(others, arms.variance, 1.0), floor)
    error = np.sqrt(np.maximum(np.where(usable, noise, 1.0), floor))
    family = _Family(value, variance, others, prior_mean, prior_deviation)
    nodes = _NODES_TIMES_PAIRS // max(arms.value.size * arms.value.shape[1], 1)
    nodes = min(max(nodes, _FEWEST_NODES), _MOST_NODES)
    means, weights = _control_means(base, error, family, nodes)
    centre, spread = family.lifts(means)
    surest = np.where(others[:, None], spread, np.inf).min(axis=-1, keepdims=True)
    is_control = np.arange(arms.value.shape[1]) == control
    centre, spread = np.where(is_control, 0.0, centre), np.where(is_control, _CERTAIN**2 * surest, spread)
    there = (others | is_control)[:, None] & usable[..., None]
    found = best_of_means(wanted[..., None] * centre, np.where(there, spread, np.nan)).chance
    return np.asarray((weights[..., None] * found).sum(axis=1))


class _Family:
    """Variants' means and the prior on their lifts; rows of goals, columns of arms."""

    def __init__(
        self, value: FloatArray, variance: FloatArray, there: FloatArray, mean: float, deviation: float
    ) -> None:
        self.value, self.variance, self.there = value[:, None], variance[:, None], there[:, None]
        self.mean, self.deviation = mean, deviation

    def log_fit(self, control: FloatArray) -> FloatArray:
        """Log of how well the variants fit each control mean, goals by means."""
        at = control[..., None]
        spread = self.variance + (at * self.deviation) ** 2
        misfit = np.where(self.there, (self.value - at * (1.0 + self.mean)) ** 2 / spread, 0.0)
        scale = np.where(self.there, np.log(spread), 0.0).sum(axis=-1)
        return np.asarray(-0.5 * (misfit.sum(axis=-1) + scale / np.maximum(self.there.sum(axis=-1), 1)))

    def lifts(self, control: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and variances of the lifts given each control mean, goals by means by arms."""
        at = control[..., None]
        precision = 1.0 / self.deviation**2 + at**2 / self.variance
        pull = self.mean / self.deviation**2 + at * (self.value - at) / self.variance
        return pull / precision, 1.0 / precision


def _control_means(
    base: FloatArray, error: FloatArray, family: _Family, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Nodes for the control's mean and weights that add up to 1, goals by nodes."""

    def weighted(means: FloatArray, log_steps: FloatArray) -> FloatArray:
        logs = family.log_fit(means) - 0.5 * ((means - base) / error) ** 2 + log_steps
        weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    grid = base + error * np.linspace(-_FAR, _FAR, _STEPS)
    weights = weighted(grid, np.zeros(_STEPS))
    centre = (weights * grid).sum(axis=-1, keepdims=True)
    deviation = np.sqrt((weights * (grid - centre) ** 2).sum(axis=-1, keepdims=True))
    deviation = np.maximum(deviation, 2.0 * _FAR * error / _STEPS)
    places, steps = np.polynomial.hermite.hermgauss(nodes)
    means = centre + np.sqrt(2.0) * deviation * places
    return means, weighted(means, np.log(steps) + places**2)
