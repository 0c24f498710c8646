"""Quantiles of the difference of two Beta variables, for credible intervals of the absolute difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian.beta import Beta

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
# The quadrature leaves out this much of the narrower density on each side.
_TINY = 1e-14
_STEPS = 60
# A Newton step this small, in standard deviations, leaves an error below its square.
_TOLERANCE = 1e-4


def differences_with_chance(x: Beta, y: Beta, chances: Sequence[float]) -> list[FloatArray]:
    """Find the difference d with P(X - Y > d) equal to each of the chances.

    By Newton's method on the normal scale, where the chance is nearly linear, kept within a bracket.
    """
    pair = _Pair.of(x, y)
    return [_difference(pair, target) for target in special.ndtri(chances).tolist()]


def _difference(pair: "_Pair", target: float) -> FloatArray:
    low, high = np.full(pair.mean.shape, -1.0), np.full(pair.mean.shape, 1.0)
    at: FloatArray = np.clip(pair.mean - target * pair.deviation, low, high)
    for _ in range(_STEPS):
        chance, density = pair.chance(at)
        z = special.ndtri(np.clip(chance, 1e-300, 1.0 - 1e-16))
        low, high = np.where(z > target, at, low), np.where(z > target, high, at)
        step = (z - target) * np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * np.maximum(density, 1e-300))
        is_inside = (at + step >= low) & (at + step <= high)
        following: FloatArray = np.where(is_inside, at + step, 0.5 * (low + high))
        if np.all(np.abs(following - at) <= _TOLERANCE * pair.deviation):
            return following
        at = following
    return at


@dataclass(frozen=True, slots=True)
class _Pair:
    """P(X - Y > d) by quadrature over the narrower density, between its quantiles `low` and `high`."""

    x_is_narrow: BoolArray
    narrow: Beta
    wide: Beta
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    deviation: FloatArray

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
            low=np.asarray(special.betaincinv(narrow.a, narrow.b, _TINY), np.float64),
            high=np.asarray(special.betainccinv(narrow.a, narrow.b, _TINY), np.float64),
            mean=x.mean - y.mean,
            deviation=np.hypot(x.deviation, y.deviation),
        )

    def chance(self, difference: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the probability at these differences, and the density of X - Y there.

        With N the narrower and W the wider, P(W - N > e) is P(N < -e) and the integral of N's density times
        P(W > n + e) over the n with n + e in W's range; e = -d where X is the narrower.
        """
        gap = np.where(self.x_is_narrow, -difference, difference)
        start = np.clip(-gap, self.low, self.high)
        half = 0.5 * (np.clip(1.0 - gap, self.low, self.high) - start)
        at = start[:, None] + half[:, None] * (1.0 + _NODES)
        mass = half[:, None] * _WEIGHTS * self.narrow.density(at)
        of_wide = np.clip(at + gap[:, None], 0.0, 1.0)
        beyond = special.betaincc(self.wide.a[:, None], self.wide.b[:, None], of_wide)
        above = special.betainc(self.narrow.a, self.narrow.b, start) + (mass * beyond).sum(axis=-1)
        density = (mass * self.wide.density(of_wide)).sum(axis=-1)
        return np.where(self.x_is_narrow, 1.0 - above, above), density
