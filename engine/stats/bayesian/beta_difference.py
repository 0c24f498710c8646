"""Quantiles of the difference of two Beta variables, for credible intervals of the absolute difference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_probability import Smooth, is_small

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
# The quadrature leaves out this much of the narrower density on each side.
_TINY = 1e-9
_STEPS = 60
# A step this small, in standard deviations, leaves a smaller error.
_TOLERANCE = 1e-4


# From differences to P(X - Y > d).
Chance = Callable[[FloatArray], FloatArray]


def differences_with_chance(x: Beta, y: Beta, chances: Sequence[float]) -> list[FloatArray]:
    """Find the difference d with P(X - Y > d) equal to each of the chances.

    By the secant method on the normal scale, where the chance is nearly linear, kept within a bracket.
    """
    targets = scipy.special.ndtri(chances).tolist()
    found = [np.empty(x.a.shape) for _ in targets]
    small = is_small(x, y)
    for rows, prepare in ((small, _skewed_chance), (~small, _smooth_chance)):
        if rows.any():
            of_x, of_y = x[rows], y[rows]
            chance = prepare(of_x, of_y)
            mean, deviation = of_x.mean - of_y.mean, np.hypot(of_x.deviation, of_y.deviation)
            for differences, target in zip(found, targets, strict=True):
                differences[rows] = _difference(chance, mean, deviation, target)
    return found


def _skewed_chance(x: Beta, y: Beta) -> Chance:
    return _Pair.of(x, y).chance


def _smooth_chance(x: Beta, y: Beta) -> Chance:
    return Smooth.of(x, y, np.ones(x.a.shape)).chance_of_difference


def _difference(chance: Chance, mean: FloatArray, deviation: FloatArray, target: float) -> FloatArray:
    low, high = np.full(mean.shape, -1.0), np.full(mean.shape, 1.0)
    at: FloatArray = np.clip(mean - target * deviation, low, high)
    last, last_z = at, np.full(at.shape, np.nan)
    for turn in range(_STEPS):
        z = scipy.special.ndtri(np.clip(chance(at), 1e-300, 1.0 - 1e-16))
        low, high = np.where(z > target, at, low), np.where(z > target, high, at)
        fall = last_z - z
        # At first, and nearly everywhere, z falls by 1 over a standard deviation.
        slope = np.divide(at - last, fall, out=deviation.copy(), where=(fall != 0) & (turn > 0))
        step = (z - target) * slope
        last, last_z = at, z
        is_inside = (at + step >= low) & (at + step <= high)
        following: FloatArray = np.where(is_inside, at + step, 0.5 * (low + high))
        if np.all(np.abs(following - at) <= _TOLERANCE * deviation):
            return following
        at = following
    return at


@dataclass(frozen=True, slots=True)
class _Pair:
    """P(X - Y > d) by quadrature over the narrower density, between its quantiles `low` and `high`.

    For skewed densities: the other's distribution function is evaluated at every node.
    """

    x_is_narrow: BoolArray
    narrow: Beta
    wide: Beta
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, x: Beta, y: Beta) -> Self:
        """Sort both by their deviations."""
        x_is_narrow = x.deviation < y.deviation
        narrow = Beta(np.where(x_is_narrow, x.a, y.a), np.where(x_is_narrow, x.b, y.b))
        wide = Beta(np.where(x_is_narrow, y.a, x.a), np.where(x_is_narrow, y.b, x.b))
        return cls(
            x_is_narrow=x_is_narrow,
            narrow=narrow,
            wide=wide,
            low=np.asarray(scipy.special.betaincinv(narrow.a, narrow.b, _TINY), np.float64),
            high=np.asarray(scipy.special.betainccinv(narrow.a, narrow.b, _TINY), np.float64),
        )

    def chance(self, difference: FloatArray) -> FloatArray:
        """Compute the probability at these differences.

        With N the narrower and W the wider, P(W - N > e) is P(N < -e) and the integral of N's density times
        P(W > n + e) over the n with n + e in W's range; e = -d where X is the narrower.
        """
        gap = np.where(self.x_is_narrow, -difference, difference)
        start = np.clip(-gap, self.low, self.high)
        half = 0.5 * (np.clip(1.0 - gap, self.low, self.high) - start)
        at = start[:, None] + half[:, None] * (1.0 + _NODES)
        mass = half[:, None] * _WEIGHTS * self.narrow.density(at)
        of_wide = np.clip(at + gap[:, None], 0.0, 1.0)
        beyond = scipy.special.betaincc(self.wide.a[:, None], self.wide.b[:, None], of_wide)
        above = scipy.special.betainc(self.narrow.a, self.narrow.b, start) + (mass * beyond).sum(axis=-1)
        return np.asarray(np.where(self.x_is_narrow, 1.0 - above, above))
