"""How likely one Beta variable is to exceed another, or a multiple of it."""

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.analysis.hypergeometric import log_hypergeometric, log_overlap, stirling_error

__all__ = ["chance_of_ratio", "chances", "log_overlap"]

FloatArray = npt.NDArray[np.float64]

NODES = 64
# A whole shape up to this is summed exactly; above it both densities are smooth enough for the nodes.
_EXACT_SHAPE = 40
# Standard deviations to either side that the quadrature covers.
_REACH = 8.5
_TINY = 1e-17


def chances(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(X > Y) and P(Y > X) for X ~ Beta(a, b) and Y ~ Beta(c, d), shapes whole and at least 1, one row each."""
    smallest = np.minimum(np.minimum(a, b), np.minimum(c, d))
    small = smallest <= _EXACT_SHAPE
    above = np.empty(a.shape)
    if small.any():
        above[small] = _exact_sum(a[small], b[small], c[small], d[small])
    large = ~small
    if large.any():
        shapes = (a[large], b[large], c[large], d[large])
        above[large] = _quadrature(*shapes, np.ones(shapes[0].shape))
    return np.clip(above, 0.0, 1.0), np.clip(1.0 - above, 0.0, 1.0)


def chance_of_ratio(
    a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, ratio: FloatArray
) -> FloatArray:
    """P(X > ratio · Y) for X ~ Beta(a, b) and Y ~ Beta(c, d), shapes at least 1, one row each."""
    small = np.minimum(np.minimum(a, b), np.minimum(c, d)) <= _EXACT_SHAPE
    chance = np.empty(a.shape)
    if small.any():
        chance[small] = _slow_quadrature(a[small], b[small], c[small], d[small], ratio[small])
    large = ~small
    if large.any():
        chance[large] = _quadrature(a[large], b[large], c[large], d[large], ratio[large])
    return np.clip(chance, 0.0, 1.0)


def _exact_sum(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """P(X > Y) as a finite sum with as many terms as the smallest shape.

    P(X > Y) = Σ B(c+i, b+d) / ((b+i) B(1+i, b) B(c, d)) over i < a: Miller (2015), "Formulas for Bayesian
    A/B testing". Swapping X and Y, or both with their complements, puts the smallest shape first.
    """
    shapes = np.stack([a, b, c, d])
    first = shapes.argmin(axis=0)
    orders = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])[first].T
    a, b, c, d = np.take_along_axis(shapes, orders, axis=0)
    i = np.arange(_EXACT_SHAPE - 1.0)
    ratios = (c[:, None] + i) * (b[:, None] + i) / ((c + b + d)[:, None] + i) / (i + 1.0)
    terms = np.cumprod(np.where(i < a[:, None] - 1.0, ratios, 0.0), axis=-1)
    start = np.exp(log_hypergeometric(np.zeros_like(a), c, b, b + c + d - 1.0))
    total = start * (1.0 + terms.sum(axis=-1))
    # Order 1 compares 1 - X with 1 - Y and order 2 swaps them: either turns the question round.
    return np.where((first == 1) | (first == 2), 1.0 - total, total)


def _quadrature(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, ratio: FloatArray) -> FloatArray:
    """P(X > ratio · Y) by Gauss-Legendre over the narrower of the two densities.

    The wider one's distribution function at the nodes is its value at the lower end plus the integral of
    its density, by the same nodes.
    """
    spread_x, spread_y = _deviation(a, b) / ratio, _deviation(c, d)
    swap = spread_x < spread_y
    narrow = (np.where(swap, a, c), np.where(swap, b, d), np.where(swap, ratio, 1.0))
    wide = (np.where(swap, c, a), np.where(swap, d, b), np.where(swap, 1.0, ratio))
    mean = narrow[0] / (narrow[0] + narrow[1]) / narrow[2]
    reach = _REACH * np.where(swap, spread_x, spread_y)
    low, high = np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0 / narrow[2])
    nodes, weights, integral = _gauss_legendre()
    half = 0.5 * (high - low)
    x = low[:, None] + half[:, None] * (1.0 + nodes)
    mass = weights * _density(*narrow, x)
    mass /= mass.sum(axis=-1, keepdims=True)
    below = special.betainc(wide[0], wide[1], np.minimum(low * wide[2], 1.0))
    # Σ mass · (below + half · integral @ density), with the small matrix product first.
    rise = half * ((mass @ integral) * _density(*wide, x)).sum(axis=-1)
    wide_below = below + rise
    return np.where(swap, wide_below, 1.0 - wide_below)


def _slow_quadrature(
    a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, ratio: FloatArray
) -> FloatArray:
    """P(X > ratio · Y) over Y from quantile to quantile: right for skewed densities, at a price."""
    nodes, weights, _ = _gauss_legendre()
    low = special.betaincinv(c, d, _TINY)
    high = np.minimum(special.betainccinv(c, d, _TINY), 1.0 / ratio)
    half = 0.5 * np.maximum(high - low, 0.0)
    y = low[:, None] + half[:, None] * (1.0 + nodes)
    density = half[:, None] * weights * _density(c, d, np.ones_like(c), y)
    above = special.betaincc(a[:, None], b[:, None], np.clip(ratio[:, None] * y, 0.0, 1.0))
    return np.asarray((density * above).sum(axis=-1))


def _density(a: FloatArray, b: FloatArray, ratio: FloatArray, x: FloatArray) -> FloatArray:
    """Density of X / ratio at `x` for X ~ Beta(a, b), as a binomial probability in saddle-point form."""
    n = a + b - 2.0
    share = np.minimum(x * ratio[:, None], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = special.xlog1py(a[:, None] - 1.0, (a[:, None] - 1.0) / n[:, None] / share - 1.0)
        miss = special.xlog1py(b[:, None] - 1.0, (b[:, None] - 1.0) / n[:, None] / (1.0 - share) - 1.0)
        constant = (
            stirling_error(n)
            - stirling_error(a - 1.0)
            - stirling_error(b - 1.0)
            + 0.5 * np.log(n / (2.0 * np.pi * (a - 1.0) * (b - 1.0)))
            + np.log((n + 1.0) * ratio)
        )
    return np.exp(constant[:, None] - hit - miss)


def _deviation(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.sqrt(a * b / (a + b + 1.0)) / (a + b)


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1], and the matrix that integrates from -1 to each node.

    ∫ P_k = (P_{k+1} - P_{k-1}) / (2k + 1), applied to the Legendre series through the nodes.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    values = np.polynomial.legendre.legvander(nodes, NODES)
    before = np.concatenate([-np.ones((NODES, 1)), values[:, : NODES - 1]], axis=1)
    rises = 0.5 * (values[:, 1:] - before)
    return nodes, weights, rises @ (weights[:, None] * values[:, :NODES]).T
