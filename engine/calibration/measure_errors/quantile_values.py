"""Values of visitors that are judged on a quantile: distributions by their quantiles."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from engine.stats.arrays import FloatArray

Inverse = Callable[[FloatArray, float], FloatArray]
"""Quantiles at shares between 0 and 1, of values that are `factor` times the control's."""


def quantiles_of_poisson(mean: float) -> Inverse:
    """Return the quantiles of Poisson counts."""
    return lambda share, factor: np.searchsorted(_cumulated(mean * factor), share).astype(np.float64)


@lru_cache
def _cumulated(mean: float) -> FloatArray:
    return np.asarray(scipy.special.pdtr(np.arange(int(mean + 20.0 * np.sqrt(mean)) + 20), mean))


def quantiles_of_lognormal(median: float, deviation: float) -> Inverse:
    """Return the quantiles of lognormal values."""
    return lambda share, factor: np.asarray(median * factor * np.exp(deviation * scipy.special.ndtri(share)))


def quantiles_of_seconds(share: FloatArray, factor: float) -> FloatArray:
    """Return the quantiles of whole seconds, which are lognormal before they are rounded up."""
    return np.ceil(quantiles_of_lognormal(8.0, 0.8)(share, factor))


def quantiles_of_two_modes(share: FloatArray, factor: float) -> FloatArray:
    """Return the quantiles of values near 10, which are 60% of all, and near 30."""
    first = 10.0 + scipy.special.ndtri(np.minimum(share, 0.5999) / 0.6)
    second = 30.0 + 3.0 * scipy.special.ndtri(np.maximum(share - 0.6, 1e-9) / 0.4)
    return np.asarray(factor * np.where(share < 0.6, first, second))


def quantiles_with_zeros(share: FloatArray, factor: float) -> FloatArray:
    """Return the quantiles of values that are 0 in 55% and else lognormal."""
    above = np.maximum(share - 0.55, 1e-12) / 0.45
    return np.where(above > 1e-11, quantiles_of_lognormal(1.0, 1.0)(above, factor), 0.0)
