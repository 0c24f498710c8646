"""Probability that one Beta variable exceeds another, or a multiple of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian.beta import Beta
from engine.stats.frequentist.hypergeometric import log_hypergeometric

# Whole shapes up to this are summed exactly; with all four above it both densities are all but normal.
EXACT_SHAPE = 50
# Nodes of the quadrature: over densities that are all but normal, and over skewed ones.
_SMOOTH_NODES = 48
_BOUNDED_NODES = 64
# Standard deviations of the log odds in which the nodes of skewed densities are even; beyond, they spread.
_EVEN = 2.0
# Standard deviations to either side that the quadrature covers; beyond them the density is negligible.
_REACH = 9.0
_TINY = 1e-17
# Rows per block, so that the nodes stay in the processor's cache.
_ROWS = 256
# Rows per product. From 262,144 multiplications on, OpenBLAS wakes its threads for some processors, and these
# spin between the products: four times the processor time, and no result sooner.
_ROWS_A_PRODUCT = 64


def chance(x: Beta, y: Beta) -> FloatArray:
    """Compute P(X > Y), in [0, 1]: a finite sum of whole shapes if one is small, else by quadrature."""
    small, whole = is_small(x, y), x.is_whole & y.is_whole
    above = np.empty(x.a.shape)
    for rows, compute in (
        (small & whole, _exact_sum),
        (small & ~whole, _bounded_chance),
        (~small, _smooth_chance),
    ):
        if rows.any():
            above[rows] = compute(x[rows], y[rows])
    # Rounding errors may lead out of [0, 1].
    return np.asarray(np.clip(above, 0.0, 1.0))


def is_small(x: Beta, y: Beta) -> BoolArray:
    """True where a shape is so small that a density may be skewed, or close to 0 or 1."""
    small: BoolArray = np.minimum(np.minimum(x.a, x.b), np.minimum(y.a, y.b)) <= EXACT_SHAPE
    return small


def blocks(count: int) -> Iterator[slice]:
    """Yield slices of so many rows, a block at a time."""
    return (slice(first, first + _ROWS) for first in range(0, count, _ROWS))


def _smooth_chance(x: Beta, y: Beta) -> FloatArray:
    above = np.empty(x.a.shape)
    for rows in blocks(above.size):
        even = np.ones(above[rows].shape)
        above[rows] = Smooth.of(x[rows], y[rows], even).chance(even)[0]
    return above


def _bounded_chance(x: Beta, y: Beta) -> FloatArray:
    even = np.ones(x.a.shape)
    return Bounded.of(x, y, even).chance(even)


def _exact_sum(x: Beta, y: Beta) -> FloatArray:
    """Compute P(X > Y) as a finite sum with as many terms as the smallest shape; all are whole.

    With X ~ Beta(a, b) and Y ~ Beta(c, d) it is Σ B(c+i, b+d) / ((b+i) B(1+i, b) B(c, d)) over i < a:
    Miller (2015), "Formulas for Bayesian A/B testing". Swapping X and Y, or putting 1 - X and 1 - Y in
    their place, gives the complement; one or both of these bring the smallest shape to the front.
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
class Smooth:
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
        nodes, weights, integral = _gauss_legendre(_SMOOTH_NODES)
        at = low[:, None] + half[:, None] * (1.0 + nodes)
        mass = weights * narrow.smooth_density(at)
        mass /= mass.sum(axis=-1, keepdims=True)
        return cls(over_x, wide, low, at, mass, half[:, None] * _products(mass, integral))

    def chance(self, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the probability at these ratios, and its rate of decrease with the log of the ratio."""
        stretch = np.where(self.over_x, 1.0 / ratio, ratio)
        inside = np.minimum(self.at * stretch[:, None], 1.0 - 1e-15)
        density = self.wide.smooth_density(inside)
        start = scipy.special.betainc(self.wide.a, self.wide.b, np.minimum(self.low * stretch, 1.0))
        below = start + stretch * np.einsum("ij,ij->i", self.mass_above, density)
        fall: FloatArray = np.einsum("ij,ij,ij->i", self.mass, inside, density)
        return np.where(self.over_x, below, 1.0 - below), fall

    def chance_of_difference(self, difference: FloatArray) -> FloatArray:
        """Compute P(X - Y > d) at these differences d, of a pair prepared for a ratio of 1."""
        gap = np.where(self.over_x, -difference, difference)
        density = self.wide.smooth_density(np.clip(self.at + gap[:, None], 1e-15, 1.0 - 1e-15))
        start = scipy.special.betainc(self.wide.a, self.wide.b, np.clip(self.low + gap, 0.0, 1.0))
        below = start + np.einsum("ij,ij->i", self.mass_above, density)
        above: FloatArray = np.where(self.over_x, below, 1.0 - below)
        return above


@dataclass(frozen=True, slots=True)
class Bounded:
    """P(X > r · Y) by quadrature over the narrower density's log odds, within the other's range.

    For skewed densities, which are rare: the other's distribution function is evaluated at every node.
    Over the log odds a density is smooth for any shapes; its tails, which fall exponentially, are covered by
    nodes at `centre` + `scale` · sinh(v), with v between `low` and `high`: Takahasi and Mori (1974), "Double
    exponential formulas for numerical integration".
    """

    over_x: BoolArray
    narrow: Beta
    wide: Beta
    centre: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, x: Beta, y: Beta, near: FloatArray) -> Self:
        """Prepare for ratios not far from `near`."""
        over_x = x.deviation < y.deviation * near
        narrow, wide = _choose(over_x, x, y), _choose(over_x, y, x)
        centre = np.log(narrow.a / narrow.b)
        scale = _EVEN * np.sqrt(1.0 / narrow.a + 1.0 / narrow.b)
        lowest = scipy.special.logit(scipy.special.betaincinv(narrow.a, narrow.b, _TINY))
        highest = -scipy.special.logit(scipy.special.betaincinv(narrow.b, narrow.a, _TINY))
        low, high = (np.asarray(np.arcsinh((end - centre) / scale)) for end in (lowest, highest))
        return cls(over_x, narrow, wide, centre, scale, low, high)

    def chance(self, ratio: FloatArray) -> FloatArray:
        """Compute the probability at these ratios."""
        stretch = np.where(self.over_x, 1.0 / ratio, ratio)
        # From 1 / stretch on the other variable lies below for certain.
        reached = np.where(stretch > 1.0, -np.log(np.where(stretch > 1.0, stretch - 1.0, 1.0)), np.inf)
        end = np.clip(np.arcsinh((reached - self.centre) / self.scale), self.low, self.high)
        v, weights = self._nodes(end)
        log_odds = self.centre[:, None] + self.scale[:, None] * np.sinh(v)
        at, rest = scipy.special.expit(log_odds), scipy.special.expit(-log_odds)
        weights = weights * self.scale[:, None] * np.cosh(v) * at * rest
        wide_below = scipy.special.betainc(
            self.wide.a[:, None], self.wide.b[:, None], np.minimum(at * stretch[:, None], 1.0)
        )
        inside = (weights * self.narrow.density(at) * wide_below).sum(axis=-1)
        cut = scipy.special.expit(self.centre + self.scale * np.sinh(end))
        below = inside + scipy.special.betaincc(self.narrow.a, self.narrow.b, cut)
        found: FloatArray = np.where(self.over_x, below, 1.0 - below)
        return found

    def _nodes(self, end: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Place nodes from `low` to `end`, with weights: closer together near an end within the density.

        There the other's distribution function ends in a power that need not be whole.
        """
        nodes, weights, _ = _gauss_legendre(_BOUNDED_NODES)
        left, span = 0.5 * (1.0 - nodes), (end - self.low)[:, None]
        is_cut = (end < self.high)[:, None]
        v = end[:, None] - span * np.where(is_cut, left**2, left)
        return v, 0.5 * weights * span * np.where(is_cut, 2.0 * left, 1.0)


def _products(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Multiply the rows by a matrix, few at a time."""
    even = len(rows) // _ROWS_A_PRODUCT * _ROWS_A_PRODUCT
    stacked = rows[:even].reshape(-1, _ROWS_A_PRODUCT, rows.shape[1]) @ matrix
    return np.concatenate([stacked.reshape(even, matrix.shape[1]), rows[even:] @ matrix])


def _choose(where: BoolArray, x: Beta, y: Beta) -> Beta:
    return Beta(np.where(where, x.a, y.a), np.where(where, x.b, y.b))


@cache
def _gauss_legendre(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1], and the matrix that turns values at the nodes into integrals up to them.

    The Legendre series through the nodes, integrated by ∫ P_k = (P_{k+1} - P_{k-1}) / (2k + 1).
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    values = np.polynomial.legendre.legvander(nodes, count)
    before = np.concatenate([-np.ones((count, 1)), values[:, : count - 1]], axis=1)
    rises = 0.5 * (values[:, 1:] - before)
    return nodes, weights, rises @ (weights[:, None] * values[:, :count]).T
