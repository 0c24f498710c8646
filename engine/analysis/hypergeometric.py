"""How likely a two-by-two table is given its margins, to full precision at any size."""

import numpy as np
import numpy.typing as npt
from scipy import special

FloatArray = npt.NDArray[np.float64]

# Stirling's series, whose first omitted term is below 1e-15 from here on.
_SERIES_FROM = 16.0
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def log_hypergeometric(x: FloatArray, row: FloatArray, column: FloatArray, total: FloatArray) -> FloatArray:
    """Log probability of `x` in the cell where a row and a column of those sums meet; -inf where impossible.

    Three binomial probabilities, each in the saddle-point form that loses no digits to large factorials:
    Loader (2000), "Fast and accurate computation of binomial probabilities".
    """
    p = np.divide(column, total, out=np.zeros_like(total), where=total > 0)
    q = np.divide(total - column, total, out=np.ones_like(total), where=total > 0)
    inside = _log_binomial(x, row, p, q) + _log_binomial(column - x, total - row, p, q)
    return inside - _log_binomial(column, total, p, q)


def log_overlap(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """Log of B(a+c, b+d) / (B(a, b) B(c, d)), without the cancellation of three log-beta functions."""
    total = a + b + c + d
    table = log_hypergeometric(a, a + b, a + c, total)
    return table + np.log(a * b / (a + b)) + np.log(c * d / (c + d)) - np.log((a + c) * (b + d) / total)


def stirling_error(n: FloatArray) -> FloatArray:
    """Log n! minus Stirling's approximation of it; n > 0."""
    inverse = 1.0 / np.maximum(n, _SERIES_FROM)
    series = sum(term * inverse ** (2 * power + 1) for power, term in enumerate(_SERIES))
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = special.gammaln(n + 1.0) - ((n + 0.5) * np.log(n) - n + 0.5 * np.log(2.0 * np.pi))
    return np.where(n < _SERIES_FROM, exact, series)


def _log_binomial(x: FloatArray, n: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (
            stirling_error(n)
            - stirling_error(x)
            - stirling_error(n - x)
            - _deviance(x, n * p)
            - _deviance(n - x, n * q)
            + 0.5 * np.log(n / (2.0 * np.pi * x * (n - x)))
        )
        none = np.where(p < 0.5, special.xlog1py(n, -p), special.xlogy(n, q))
        every = np.where(q < 0.5, special.xlog1py(n, -q), special.xlogy(n, p))
    impossible = (x < 0) | (x > n)
    return np.select([impossible, x == 0, x == n], [np.full(x.shape, -np.inf), none, every], middle)


def _deviance(x: FloatArray, expected: FloatArray) -> FloatArray:
    gap = x - expected
    return special.xlog1py(x, gap / expected) - gap
