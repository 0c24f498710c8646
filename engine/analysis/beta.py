"""How likely one Beta variable is to exceed another, or a multiple of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from scipy import special

from engine.analysis.hypergeometric import log_binomial, log_hypergeometric, stirling_error
from engine.analysis.moments import BoolArray, FloatArray
from engine.analysis.roots import falling_root

NODES = 64
# Whole shapes up to this are summed exactly; with all four above it both densities are all but normal.
EXACT_SHAPE = 50
# Standard deviations to either side that the quadrature covers; beyond them a density counts for nothing.
_REACH = 9.0
_TINY = 1e-17
_NEWTON_STEPS = 30
# A step this small, in standard deviations, leaves an error of about its square.
_NEWTON_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta distributions with whole shapes `a` and `b` of at least 1, one row of them."""

    a: FloatArray
    b: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The expected value."""
        return self.a / (self.a + self.b)

    @property
    def deviation(self) -> FloatArray:
        """The standard deviation."""
        deviation: FloatArray = np.sqrt(self.a * self.b / (self.a + self.b + 1.0)) / (self.a + self.b)
        return deviation

    def __getitem__(self, where: BoolArray) -> Self:
        """The distributions that a mask picks."""
        return type(self)(self.a[where], self.b[where])

    def density(self, x: FloatArray) -> FloatArray:
        """Density at `x`, which has a last axis more: a binomial probability, which loses no digits."""
        n, hits, share = (self.a + self.b - 2.0)[:, None], (self.a - 1.0)[:, None], np.clip(x, 0.0, 1.0)
        density: FloatArray = (n + 1.0) * np.exp(log_binomial(hits, n, share, 1.0 - share))
        return np.where(x <= 1.0, density, 0.0)

    def smooth_density(self, x: FloatArray) -> FloatArray:
        """The same with fewer cases to tell apart; both shapes above 1 and `x` inside (0, 1)."""
        n, hits, misses = self.a + self.b - 2.0, self.a - 1.0, self.b - 1.0
        log_scale = stirling_error(n) - stirling_error(hits) - stirling_error(misses)
        log_scale += np.log(n + 1.0) + 0.5 * np.log(n / (2.0 * np.pi * hits * misses))
        expected = n[:, None] * x
        gap = expected - hits[:, None]
        # In place: most of the time goes into moving arrays, not into logarithms.
        log_density = np.subtract(n[:, None], expected)
        np.log1p(np.divide(gap, log_density, out=log_density), out=log_density)
        log_density *= -misses[:, None]
        np.divide(gap, expected, out=gap)
        np.log1p(np.negative(gap, out=gap), out=gap)
        gap *= hits[:, None]
        log_density -= gap
        log_density += log_scale[:, None]
        return np.exp(log_density, out=log_density)


def chance(x: Beta, y: Beta) -> FloatArray:
    """P(X > Y): a finite sum where a shape is small, else by Gauss-Legendre quadrature. In [0, 1]."""
    small = _is_small(x, y)
    above = np.empty(x.a.shape)
    above[small] = _exact_sum(x[small], y[small])
    ones = np.ones(np.count_nonzero(~small))
    above[~small] = _Smooth.of(x[~small], y[~small], ones).chance(ones)[0]
    return _probability(above)


def chance_of_ratio(x: Beta, y: Beta, ratio: FloatArray) -> FloatArray:
    """P(X > ratio · Y) by Gauss-Legendre quadrature. In [0, 1]."""
    small = _is_small(x, y)
    above = np.empty(x.a.shape)
    above[small] = _Bounded.of(x[small], y[small], ratio[small]).chance(ratio[small])
    above[~small] = _Smooth.of(x[~small], y[~small], ratio[~small]).chance(ratio[~small])[0]
    return _probability(above)


def ratios_with_chance(x: Beta, y: Beta, chances: Sequence[float]) -> list[FloatArray]:
    """For each of the chances, the ratio r at which P(X > r · Y) is that chance."""
    small = _is_small(x, y)
    ratios = [np.empty(x.a.shape) for _ in chances]
    for part, search in ((small, _search_bounded), (~small, _search_smooth)):
        if part.any():
            for ratio, found in zip(ratios, search(x[part], y[part], chances), strict=True):
                ratio[part] = found
    return ratios


def _search_bounded(x: Beta, y: Beta, chances: Sequence[float]) -> Iterator[FloatArray]:
    """By false position."""
    bounded = _Bounded.of(x, y, x.mean / y.mean)
    for target in special.ndtri(chances):
        start, spread = _first_guess(x, y, target)

        def excess(log_ratio: FloatArray, target: float = target) -> FloatArray:
            above = np.clip(bounded.chance(np.exp(log_ratio)), 1e-300, 1.0 - 1e-16)
            return np.asarray(special.ndtri(above)) - target

        yield np.exp(falling_root(excess, start - 0.1 * spread, start + 0.1 * spread))


def _search_smooth(x: Beta, y: Beta, chances: Sequence[float]) -> Iterator[FloatArray]:
    """By Newton's method, on the normal scale: there the chance falls almost in a straight line."""
    smooth = _Smooth.of(x, y, x.mean / y.mean)
    for target in special.ndtri(chances):
        log_ratio, spread = _first_guess(x, y, target)
        for _ in range(_NEWTON_STEPS):
            above, fall = smooth.chance(np.exp(log_ratio))
            z = special.ndtri(np.clip(above, 1e-300, 1.0 - 1e-16))
            step = (z - target) * np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * np.maximum(fall, 1e-300))
            log_ratio = log_ratio + np.clip(step, -spread, spread)
            if np.all(np.abs(step) <= _NEWTON_TOLERANCE * spread):
                break
        yield np.exp(log_ratio)


def _first_guess(x: Beta, y: Beta, target: float) -> tuple[FloatArray, FloatArray]:
    """The log ratio with a normal chance `target`, and its standard deviation, by the delta method."""
    spread = np.hypot(x.deviation / x.mean, y.deviation / y.mean)
    return np.log(x.mean / y.mean) - target * spread, spread


def _probability(value: FloatArray) -> FloatArray:
    """Without the rounding errors that lead out of [0, 1]."""
    clipped: FloatArray = np.clip(value, 0.0, 1.0)
    return clipped


def _is_small(x: Beta, y: Beta) -> BoolArray:
    small: BoolArray = np.minimum(np.minimum(x.a, x.b), np.minimum(y.a, y.b)) <= EXACT_SHAPE
    return small


def _choose(where: BoolArray, x: Beta, y: Beta) -> Beta:
    return Beta(np.where(where, x.a, y.a), np.where(where, x.b, y.b))


def _exact_sum(x: Beta, y: Beta) -> FloatArray:
    """P(X > Y) as a finite sum with as many terms as the smallest shape.

    With X ~ Beta(a, b) and Y ~ Beta(c, d) it is Σ B(c+i, b+d) / ((b+i) B(1+i, b) B(c, d)) over i < a:
    Miller (2015), "Formulas for Bayesian A/B testing". Swapping X and Y, or putting 1 - X and 1 - Y in
    their place, turns the question round; one or both of these bring the smallest shape to the front.
    """
    shapes = np.stack([x.a, x.b, y.a, y.b])
    smallest = shapes.argmin(axis=0)
    order = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])[smallest].T
    a, b, c, d = np.take_along_axis(shapes, order, axis=0)
    i = np.arange(EXACT_SHAPE - 1.0)
    ratios = (c[:, None] + i) * (b[:, None] + i) / (((b + c + d)[:, None] + i) * (i + 1.0))
    terms = np.cumprod(np.where(i < a[:, None] - 1.0, ratios, 0.0), axis=-1)
    first = np.exp(log_hypergeometric(np.zeros_like(a), c, b, b + c + d - 1.0))
    total = first * (1.0 + terms.sum(axis=-1))
    turned = (smallest == 1) | (smallest == 2)
    above: FloatArray = np.where(turned, 1.0 - total, total)
    return above


@dataclass(frozen=True, slots=True)
class _Smooth:
    """P(X > r · Y) as an integral over the narrower of the two densities, ± 9 standard deviations.

    The other's distribution function at the nodes `at` is its value at the lower end plus the integral of
    its density from there, which the same nodes give: `mass_above` is what lies above each, weighted.
    """

    over_x: BoolArray
    wide: Beta
    low: FloatArray
    at: FloatArray
    mass: FloatArray
    mass_above: FloatArray

    @classmethod
    def of(cls, x: Beta, y: Beta, near: FloatArray) -> Self:
        """Prepare for ratios not far from `near`."""
        over_x = x.deviation < y.deviation * near
        narrow, wide = _choose(over_x, x, y), _choose(over_x, y, x)
        low = np.maximum(narrow.mean - _REACH * narrow.deviation, 0.0)
        half = 0.5 * (np.minimum(narrow.mean + _REACH * narrow.deviation, 1.0) - low)
        nodes, weights, integral = _gauss_legendre()
        at = low[:, None] + half[:, None] * (1.0 + nodes)
        mass = weights * narrow.smooth_density(at)
        mass /= mass.sum(axis=-1, keepdims=True)
        return cls(over_x, wide, low, at, mass, half[:, None] * (mass @ integral))

    def chance(self, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The chance at these ratios, and how fast it falls with the log of the ratio."""
        stretch = np.where(self.over_x, 1.0 / ratio, ratio)
        inside = np.minimum(self.at * stretch[:, None], 1.0 - 1e-15)
        density = self.wide.smooth_density(inside)
        start = special.betainc(self.wide.a, self.wide.b, np.minimum(self.low * stretch, 1.0))
        below = start + stretch * np.einsum("ij,ij->i", self.mass_above, density)
        fall: FloatArray = np.einsum("ij,ij,ij->i", self.mass, inside, density)
        return np.where(self.over_x, below, 1.0 - below), fall


@dataclass(frozen=True, slots=True)
class _Bounded:
    """The same from quantile to quantile of the narrower density, up to where the other's range ends.

    Right for skewed densities, of which there are few: the other's distribution function is asked at
    every node.
    """

    over_x: BoolArray
    narrow: Beta
    wide: Beta
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, x: Beta, y: Beta, near: FloatArray) -> Self:
        """Prepare for ratios not far from `near`."""
        over_x = x.deviation < y.deviation * near
        narrow, wide = _choose(over_x, x, y), _choose(over_x, y, x)
        low = np.asarray(special.betaincinv(narrow.a, narrow.b, _TINY), np.float64)
        high = np.asarray(special.betainccinv(narrow.a, narrow.b, _TINY), np.float64)
        return cls(over_x, narrow, wide, low, high)

    def chance(self, ratio: FloatArray) -> FloatArray:
        """The chance at these ratios."""
        nodes, weights, _ = _gauss_legendre()
        stretch = np.where(self.over_x, 1.0 / ratio, ratio)
        end = np.clip(1.0 / stretch, self.low, self.high)
        half = 0.5 * (end - self.low)
        at = self.low[:, None] + half[:, None] * (1.0 + nodes)
        wide_below = special.betainc(
            self.wide.a[:, None], self.wide.b[:, None], np.clip(at * stretch[:, None], 0.0, 1.0)
        )
        inside = half * (weights * self.narrow.density(at) * wide_below).sum(axis=-1)
        below = inside + special.betaincc(self.narrow.a, self.narrow.b, end)
        found: FloatArray = np.where(self.over_x, below, 1.0 - below)
        return found


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1], and the matrix that turns values at the nodes into integrals up to them.

    The Legendre series through the nodes, integrated by ∫ P_k = (P_{k+1} - P_{k-1}) / (2k + 1).
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    values = np.polynomial.legendre.legvander(nodes, NODES)
    before = np.concatenate([-np.ones((NODES, 1)), values[:, : NODES - 1]], axis=1)
    rises = 0.5 * (values[:, 1:] - before)
    return nodes, weights, rises @ (weights[:, None] * values[:, :NODES]).T
