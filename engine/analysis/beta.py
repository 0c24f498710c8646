"""How likely one Beta variable is to exceed another, or a multiple of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from scipy import special

from engine.analysis.hypergeometric import log_binomial, log_hypergeometric, stirling_error
from engine.analysis.moments import BoolArray, FloatArray

NODES = 64
# Whole shapes up to this are summed exactly; with all four above it both densities are all but normal.
EXACT_SHAPE = 50
# Standard deviations to either side that the quadrature covers; beyond them a density counts for nothing.
_REACH = 9.0
_TINY = 1e-17


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
        log_density = -hits[:, None] * np.log1p(-gap / expected)
        log_density -= misses[:, None] * np.log1p(gap / (n[:, None] - expected))
        density: FloatArray = np.exp(log_density + log_scale[:, None])
        return density


def chance(x: Beta, y: Beta) -> FloatArray:
    """P(X > Y): a finite sum where a shape is small, else by Gauss-Legendre quadrature. In [0, 1]."""
    small = _smallest_shape(x, y) <= EXACT_SHAPE
    above = np.empty(x.a.shape)
    if small.any():
        above[small] = _exact_sum(x[small], y[small])
    large = ~small
    if large.any():
        ones = np.ones(np.count_nonzero(large))
        above[large] = _smooth_chance_of_ratio(x[large], y[large], ones)(ones)
    return _probability(above)


def chance_of_ratio(x: Beta, y: Beta, near: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """P(X > r · Y) as a function of r, prepared for an r not far from `near`. In [0, 1]."""
    small = _smallest_shape(x, y) <= EXACT_SHAPE
    exact = _bounded_chance_of_ratio(x[small], y[small], near[small])
    smooth = _smooth_chance_of_ratio(x[~small], y[~small], near[~small])

    def above(ratio: FloatArray) -> FloatArray:
        found = np.empty(ratio.shape)
        found[small], found[~small] = exact(ratio[small]), smooth(ratio[~small])
        return _probability(found)

    return above


def _probability(value: FloatArray) -> FloatArray:
    """Without the rounding errors that lead out of [0, 1]."""
    clipped: FloatArray = np.clip(value, 0.0, 1.0)
    return clipped


def _smallest_shape(x: Beta, y: Beta) -> FloatArray:
    smallest: FloatArray = np.minimum(np.minimum(x.a, x.b), np.minimum(y.a, y.b))
    return smallest


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


def _smooth_chance_of_ratio(x: Beta, y: Beta, near: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Integrate over the narrower density, ± 9 standard deviations.

    The other's distribution function at the nodes is its value at the lower end plus the integral of its
    density from there, which the same nodes give.
    """
    over_x = x.deviation < y.deviation * near
    narrow, wide = _choose(over_x, x, y), _choose(over_x, y, x)
    low = np.maximum(narrow.mean - _REACH * narrow.deviation, 0.0)
    half = 0.5 * (np.minimum(narrow.mean + _REACH * narrow.deviation, 1.0) - low)
    nodes, weights, integral = _gauss_legendre()
    at = low[:, None] + half[:, None] * (1.0 + nodes)
    mass = weights * narrow.smooth_density(at)
    mass /= mass.sum(axis=-1, keepdims=True)
    mass_above = half[:, None] * (mass @ integral)

    def above(ratio: FloatArray) -> FloatArray:
        stretch = np.where(over_x, 1.0 / ratio, ratio)
        inside = np.minimum(at * stretch[:, None], 1.0 - 1e-15)
        density = wide.smooth_density(inside) * stretch[:, None]
        start = special.betainc(wide.a, wide.b, np.minimum(low * stretch, 1.0))
        below = start + (mass_above * density).sum(axis=-1)
        found: FloatArray = np.where(over_x, below, 1.0 - below)
        return found

    return above


def _bounded_chance_of_ratio(x: Beta, y: Beta, near: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Integrate over the narrower density from quantile to quantile, up to where the other's range ends."""
    over_x = x.deviation < y.deviation * near
    narrow, wide = _choose(over_x, x, y), _choose(over_x, y, x)
    low = special.betaincinv(narrow.a, narrow.b, _TINY)
    high = special.betainccinv(narrow.a, narrow.b, _TINY)
    nodes, weights, _ = _gauss_legendre()

    def above(ratio: FloatArray) -> FloatArray:
        stretch = np.where(over_x, 1.0 / ratio, ratio)
        end = np.clip(1.0 / stretch, low, high)
        half = 0.5 * (end - low)
        at = low[:, None] + half[:, None] * (1.0 + nodes)
        wide_below = special.betainc(
            wide.a[:, None], wide.b[:, None], np.clip(at * stretch[:, None], 0.0, 1.0)
        )
        inside = half * (weights * narrow.density(at) * wide_below).sum(axis=-1)
        below = inside + special.betaincc(narrow.a, narrow.b, end)
        found: FloatArray = np.where(over_x, below, 1.0 - below)
        return found

    return above


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
