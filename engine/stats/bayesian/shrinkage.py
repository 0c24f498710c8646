"""Partial pooling: shrinkage of normal effects in closed form."""

from dataclasses import dataclass

import numpy as np
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate

# The scale of the half-normal prior on the spread between effects, on the log-odds scale and for relative
# effects alike: Röver et al. (2021), "On weakly informative prior distributions for the heterogeneity
# parameter in Bayesian random-effects meta-analysis", Research Synthesis Methods 12.
SPREAD_SCALE = 0.5

_SPREAD_NODES = 128
_NEWTON_STEPS = 5
_TWO_PI = 2.0 * np.pi


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Posteriors of effects, the last axis being their family; NaN where `defined` is False.

    `mean`, `deviation`, and an interval from `low` to `high` of each effect; `chance` that it is above 0.
    `centre` and `spread` are the posterior means of the family's mean and standard deviation, one a family.
    """

    mean: FloatArray
    deviation: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    centre: FloatArray
    spread: FloatArray
    defined: BoolArray


@dataclass(frozen=True, slots=True)
class _Pooling:
    """Posterior of one family given each spread `tau`, along the last axis, and the weight of each.

    `kept` is the share of its distance from the `centre` that an effect keeps; `total` is the precision of
    the centre.
    """

    defined: BoolArray
    value: FloatArray
    variance: FloatArray
    tau: FloatArray
    centre: FloatArray
    total: FloatArray
    kept: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Normals of `mean` and `variance`, mixed by `weight` along the last axis."""

    mean: FloatArray
    variance: FloatArray
    weight: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        mean = (self.weight * self.mean).sum(axis=-1)
        apart = self.mean - mean[..., None]
        return mean, (self.weight * (self.variance + apart**2)).sum(axis=-1)

    def above(self, value: FloatArray) -> FloatArray:
        z = (self.mean - value[..., None]) / np.sqrt(self.variance)
        # Weights add up to 1 but for rounding.
        return np.asarray(np.minimum((self.weight * scipy.special.ndtr(z)).sum(axis=-1), 1.0))

    def density(self, value: FloatArray) -> FloatArray:
        squared = (self.mean - value[..., None]) ** 2 / self.variance
        return np.asarray(
            (self.weight * np.exp(-0.5 * squared) / np.sqrt(_TWO_PI * self.variance)).sum(axis=-1)
        )

    def quantile(self, tail: float) -> FloatArray:
        """Find the value that is exceeded with probability `tail`, by Newton's method on the normal scale.

        There a mixture of normals is nearly a straight line, so few steps reach rounding error.
        """
        mean, variance = self.moments()
        deviation, target = np.sqrt(variance), scipy.special.ndtri(tail)
        value = mean - target * deviation
        for _ in range(_NEWTON_STEPS):
            z = scipy.special.ndtri(np.clip(self.above(value), 1e-300, 1.0 - 1e-16))
            slope = np.maximum(self.density(value), 1e-300) * np.sqrt(_TWO_PI) * np.exp(0.5 * z**2)
            value = value + np.clip((z - target) / slope, -deviation, deviation)
        return value


def shrink(effects: Estimate, *, alpha: float = 0.05, spread_scale: float = SPREAD_SCALE) -> Shrunk:
    """Shrink each effect towards the mean of its family, in proportion to its uncertainty.

    effect_i ~ N(theta_i, v_i), theta_i ~ N(mu, tau²), mu flat, tau half-normal. Given tau everything is
    normal in closed form, and tau is integrated out on a grid: Gelman et al. (2013), "Bayesian Data
    Analysis", section 5.4. Similar effects are pooled strongly, different ones hardly.
    A family needs at least two effects of known variance.
    """
    pooling = _pool(effects, spread_scale)
    kept, weight = pooling.kept, pooling.weight
    mixture = _Mixture(
        mean=pooling.centre + kept * (pooling.value - pooling.centre),
        variance=kept * pooling.variance + (1.0 - kept) ** 2 / pooling.total,
        weight=np.broadcast_to(weight, kept.shape),
    )
    some = np.asarray(pooling.defined.any(axis=-1))
    centre, spread = _mean(pooling.centre, weight, some), _mean(pooling.tau, weight, some)
    return _summary(mixture, pooling.defined, alpha, centre, spread)


def shrink_total(
    effects: Estimate, chosen: BoolArray, *, alpha: float = 0.05, spread_scale: float = SPREAD_SCALE
) -> tuple[float, float, float]:
    """Add up the chosen effects of one family, each shrunk as by `shrink`: mean, and interval of the sum.

    The posterior needs no correction for the choice, also by the observed effects: Senn (2008), "A note
    concerning a selection paradox of Dawid's", The American Statistician 62. The error of the family's mean
    is common to all effects, and counts once for their sum. One-dimensional, with two defined effects or
    more.
    """
    pooling = _pool(effects, spread_scale)
    among = (chosen & pooling.defined)[:, None]
    kept, centre = pooling.kept, pooling.centre
    mean = np.where(among, centre + kept * (pooling.value - centre), 0.0).sum(axis=-2)
    own = np.where(among, kept * pooling.variance, 0.0).sum(axis=-2)
    common = np.where(among, 1.0 - kept, 0.0).sum(axis=-2) ** 2 / pooling.total[0]
    # A sum of no effect is 0 without an error.
    variance = np.maximum(own + common, np.finfo(np.float64).tiny)
    mixture = _Mixture(mean=mean, variance=variance, weight=pooling.weight[0])
    low, high = mixture.quantile(1.0 - alpha / 2.0), mixture.quantile(alpha / 2.0)
    return float(mixture.moments()[0]), float(low), float(high)


def _pool(effects: Estimate, spread_scale: float) -> _Pooling:
    known = effects.defined & (effects.variance > 0)
    defined = known & (known.sum(axis=-1, keepdims=True) >= 2)
    variance = np.where(defined, effects.variance, 1.0)[..., None]
    value = np.where(defined, effects.value, 0.0)[..., None]
    tau = _spreads(np.where(defined, effects.variance, np.inf), spread_scale)[..., None, :]
    precision = np.where(defined[..., None], 1.0 / (variance + tau**2), 0.0)
    total = precision.sum(axis=-2, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    centre = (precision * value).sum(axis=-2, keepdims=True) / total
    weight = _weights(precision, value - centre, total, tau, spread_scale)
    kept = tau**2 / (variance + tau**2)
    return _Pooling(defined, value, variance, tau, centre, total, kept, weight)


def _spreads(variance: FloatArray, scale: float) -> FloatArray:
    """A grid of tau, even in its logarithm, from far below any standard error to far into the prior."""
    smallest = np.sqrt(variance.min(axis=-1, initial=scale**2))[..., None]
    low, high = np.log(1e-3 * smallest), np.log(6.0 * scale)
    return np.asarray(np.exp(low + (high - low) * np.linspace(0.0, 1.0, _SPREAD_NODES)))


def _weights(
    precision: FloatArray, apart: FloatArray, total: FloatArray, tau: FloatArray, scale: float
) -> FloatArray:
    """The posterior of tau on its grid, as weights that add up to 1."""
    log_precision = np.log(precision, out=np.zeros_like(precision), where=precision > 0)
    fit = 0.5 * (log_precision - precision * apart**2).sum(axis=-2, keepdims=True) - 0.5 * np.log(total)
    # The grid is even in log tau, so its density there carries a factor tau.
    log_weight = fit - 0.5 * (tau / scale) ** 2 + np.log(tau)
    weight: FloatArray = scipy.special.softmax(log_weight, axis=-1)
    return weight


def _summary(
    mixture: _Mixture, defined: BoolArray, alpha: float, centre: FloatArray, spread: FloatArray
) -> Shrunk:
    mean, variance = mixture.moments()
    return Shrunk(
        mean=np.where(defined, mean, np.nan),
        deviation=np.where(defined, np.sqrt(variance), np.nan),
        low=np.where(defined, mixture.quantile(1.0 - alpha / 2.0), np.nan),
        high=np.where(defined, mixture.quantile(alpha / 2.0), np.nan),
        chance=np.where(defined, mixture.above(np.zeros(mean.shape)), np.nan),
        centre=centre,
        spread=spread,
        defined=defined,
    )


def _mean(values: FloatArray, weight: FloatArray, some: BoolArray) -> FloatArray:
    """Posterior mean of one number a family; NaN where there is none."""
    return np.where(some, (values * weight).sum(axis=-1)[..., 0], np.nan)
