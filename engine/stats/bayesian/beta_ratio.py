"""Quantiles of the ratio of two Beta variables, for credible intervals of the lift."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_probability import (
    Bounded,
    Smooth,
    blocks,
    is_small,
)
from engine.stats.roots import falling_root

_NEWTON_STEPS = 30
# A step this small, in standard deviations, leaves an error below a hundredth of its square.
_NEWTON_TOLERANCE = 1e-4


def ratios_with_chance(x: Beta, y: Beta, chances: Sequence[float]) -> list[FloatArray]:
    """Find the ratio r with P(X > r · Y) equal to each of the chances."""
    small = is_small(x, y)
    ratios = [np.empty(x.a.shape) for _ in chances]
    for part, search in ((small, _search_bounded), (~small, _search_smooth)):
        if part.any():
            for ratio, found in zip(ratios, search(x[part], y[part], chances), strict=True):
                ratio[part] = found
    return ratios


def _search_bounded(x: Beta, y: Beta, chances: Sequence[float]) -> Iterator[FloatArray]:
    """Find the ratios by false position."""
    bounded = Bounded.of(x, y, x.mean / y.mean)
    for target in scipy.special.ndtri(chances):
        start, spread = _first_guess(x, y, target)

        def excess(log_ratio: FloatArray, target: float = target) -> FloatArray:
            above = np.clip(bounded.chance(np.exp(log_ratio)), 1e-300, 1.0 - 1e-16)
            return np.asarray(scipy.special.ndtri(above)) - target

        yield np.exp(falling_root(excess, start - 0.1 * spread, start + 0.1 * spread))


def _search_smooth(x: Beta, y: Beta, chances: Sequence[float]) -> list[FloatArray]:
    """Find the ratios by Newton's method on the normal scale, where the chance is nearly linear."""
    ratios = [np.empty(x.a.shape) for _ in chances]
    for rows in blocks(x.a.size):
        smooth = Smooth.of(x[rows], y[rows], x[rows].mean / y[rows].mean)
        shape = _Skewed.of(x[rows], y[rows])
        for ratio, target in zip(ratios, scipy.special.ndtri(chances), strict=True):
            ratio[rows] = np.exp(_newton(smooth, target, shape))
    return ratios


def _newton(smooth: Smooth, target: float, shape: "_Skewed") -> FloatArray:
    """Find the log ratios at which the chance equals the normal probability below `target`."""
    log_ratio, spread = shape.quantile(-target), shape.spread
    for _ in range(_NEWTON_STEPS):
        above, fall = smooth.chance(np.exp(log_ratio))
        z = scipy.special.ndtri(np.clip(above, 1e-300, 1.0 - 1e-16))
        step = (z - target) * np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * np.maximum(fall, 1e-300))
        # Curvature from skewness.
        step += spread * shape.skewness / 6.0 * np.clip(z - target, -1.0, 1.0) ** 2
        log_ratio = log_ratio + np.clip(step, -spread, spread)
        if np.all(np.abs(step) <= _NEWTON_TOLERANCE * spread):
            break
    return log_ratio


def _first_guess(x: Beta, y: Beta, target: float) -> tuple[FloatArray, FloatArray]:
    """Approximate the log ratio at the normal chance `target`, and its deviation, by the delta method."""
    spread = np.hypot(x.deviation / x.mean, y.deviation / y.mean)
    return np.log(x.mean / y.mean) - target * spread, spread


@dataclass(frozen=True, slots=True)
class _Skewed:
    """Distribution of the log ratio by its first four cumulants; no shape may be small."""

    centre: FloatArray
    spread: FloatArray
    skewness: FloatArray
    excess: FloatArray

    @classmethod
    def of(cls, x: Beta, y: Beta) -> Self:
        """Take the cumulants of log X - log Y."""
        of_x, of_y = x.log_cumulants, y.log_cumulants
        variance = of_x[1] + of_y[1]
        spread = np.sqrt(variance)
        skewness, excess = (of_x[2] - of_y[2]) / (variance * spread), (of_x[3] + of_y[3]) / variance**2
        return cls(of_x[0] - of_y[0], spread, skewness, excess)

    def quantile(self, z: float) -> FloatArray:
        """Approximate the quantile at the normal position `z`.

        Cornish and Fisher (1938), "Moments and cumulants in the specification of distributions".
        """
        shift = (z * z - 1.0) / 6.0 * self.skewness
        shift += (z**3 - 3.0 * z) / 24.0 * self.excess - (2.0 * z**3 - 5.0 * z) / 36.0 * self.skewness**2
        quantile: FloatArray = self.centre + self.spread * (z + shift)
        return quantile
