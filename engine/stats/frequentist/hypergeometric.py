"""Hypergeometric log probabilities, to full precision at any size."""

import numpy as np
import scipy

from engine.stats.arrays import FloatArray

# Stirling's series: the first term left out is below 1e-15 from here on.
_SERIES_FROM = 16.0
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def log_hypergeometric(x: FloatArray, row: FloatArray, column: FloatArray, total: FloatArray) -> FloatArray:
    """Compute the log probability of cell `x` given its row and column sums; -inf where impossible."""
    p = np.divide(column, total, out=np.zeros_like(total), where=total > 0)
    q = np.divide(total - column, total, out=np.ones_like(total), where=total > 0)
    parts = log_binomial(x, row, p, q) + log_binomial(column - x, total - row, p, q)
    return parts - log_binomial(column, total, p, q)


def log_binomial(x: FloatArray, n: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """Compute the log probability of `x` successes in `n` trials; q = 1 - p is given to keep its digits.

    The saddle-point form, in which no large factorials cancel: Loader (2000), "Fast and accurate
    computation of binomial probabilities".
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = (
            stirling_error(n)
            - stirling_error(x)
            - stirling_error(n - x)
            - _deviance(x, n * p)
            - _deviance(n - x, n * q)
            + 0.5 * np.log(n / (2.0 * np.pi * x * (n - x)))
        )
        none = np.where(p < q, scipy.special.xlog1py(n, -p), scipy.special.xlogy(n, q))
        every = np.where(q < p, scipy.special.xlog1py(n, -q), scipy.special.xlogy(n, p))
    impossible = (x < 0) | (x > n)
    return np.where(impossible, -np.inf, np.where(x == 0, none, np.where(x == n, every, middle)))


def log_overlap(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """Compute the log of B(a+c, b+d) / (B(a, b) B(c, d)), without cancellation between log-beta functions."""
    total = a + b + c + d
    table = log_hypergeometric(a, a + b, a + c, total)
    factors: FloatArray = (
        np.log(a * b / (a + b)) + np.log(c * d / (c + d)) - np.log((a + c) * (b + d) / total)
    )
    return table + factors


def stirling_error(n: FloatArray) -> FloatArray:
    """Compute log n! minus Stirling's approximation; n > 0."""
    inverse = 1.0 / np.maximum(n, _SERIES_FROM)
    square = inverse * inverse
    series = np.zeros_like(inverse)
    for term in reversed(_SERIES):
        series = series * square + term
    small = n < _SERIES_FROM
    if not small.any():
        return series * inverse
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = scipy.special.gammaln(n + 1.0) - ((n + 0.5) * np.log(n) - n + 0.5 * np.log(2.0 * np.pi))
    return np.where(small, exact, series * inverse)


def _deviance(x: FloatArray, expected: FloatArray) -> FloatArray:
    gap = x - expected
    deviance: FloatArray = scipy.special.xlog1py(x, gap / expected) - gap
    return deviance
