"""Quantiles of values per visitor, with Woodruff's standard errors."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate

# The standard error comes from an interval of this level, where it is least noisy.
_Z = float(scipy.special.ndtri(0.975))


def estimate_quantiles(values: npt.ArrayLike, shares: npt.ArrayLike) -> Estimate:
    """Estimate quantiles of one arm's `values` (one per visitor) at `shares` (0.5 is the median).

    Quantiles: Hyndman and Fan (1996), American Statistician 50, definition 8, nearly median-unbiased for
    any distribution. Standard error: half the width of Woodruff's interval (1952, JASA 47) over its z,
    where the interval runs between the quantiles at q ± z sqrt(q (1 - q) / n); it needs no density.
    Not defined where that leaves 0 to 1: too few visitors for so extreme a quantile. A quantile among
    equal values has variance 0 and so no test: with most visitors at 0, the median is 0.
    """
    seen, q = np.asarray(values, np.float64), np.asarray(shares, np.float64)
    if ((q <= 0) | (q >= 1)).any():
        raise ValueError(f"shares of quantiles lie between 0 and 1; got {q.tolist()}")
    n = np.full(q.shape, float(seen.size))
    reach = _Z * np.sqrt(q * (1.0 - q) / np.maximum(n, 1.0))
    defined = (n > 1) & (q - reach > 0) & (q + reach < 1)
    if not defined.any():
        return Estimate(np.full(q.shape, np.nan), np.full(q.shape, np.nan), n)
    value, low, high = (
        np.where(defined, _quantile(seen, np.clip(at, 0.0, 1.0)), np.nan) for at in (q, q - reach, q + reach)
    )
    return Estimate(value, ((high - low) / (2.0 * _Z)) ** 2, n)


def _quantile(values: FloatArray, shares: FloatArray) -> FloatArray:
    return np.asarray(np.quantile(values, shares, method="median_unbiased"))
