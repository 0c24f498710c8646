"""O'Brien-Fleming boundary for continuous monitoring up to a planned sample."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.stats.arrays import FloatArray
from engine.stats.roots import bisect

# The probability that a Brownian path stays below this rounds to 0.
_HIGHEST = 40.0
# Larger statistics, whose squares would overflow, are clipped to this one.
_LARGEST_Z = 1e150
_TERMS = 8


def critical_value(fraction: npt.ArrayLike, alpha: float) -> FloatArray:
    """Compute the critical |z| at a fraction of the planned sample: c / sqrt(fraction); infinite at 0.

    O'Brien and Fleming (1979), Biometrics 35, require |z| above c / sqrt(t) at each of a few looks. Here c
    is that of continuous looks: a Brownian path leaves ±c before time 1 with probability `alpha`, so
    the promise holds however often one looks. Beyond the plan nothing more is spent, and c stays.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(_level(alpha) / np.sqrt(_within(fraction)))


def log_p_value(z: npt.ArrayLike, fraction: npt.ArrayLike) -> FloatArray:
    """Compute the log of the always-valid two-sided p: that of a path reaching |z| sqrt(fraction).

    Below log(alpha) exactly where |z| exceeds `critical_value(fraction, alpha)`.
    """
    height = np.minimum(np.abs(np.asarray(z, np.float64)), _LARGEST_Z) * np.sqrt(_within(fraction))
    return log_crossing(height)


def log_crossing(height: npt.ArrayLike) -> FloatArray:
    """Compute the log probability that a Brownian path leaves ±`height` before time 1.

    4 sum (-1)^k (1 - Phi((2k + 1) height)) for high ones, and 1 - 4/pi sum (-1)^k/(2k + 1) exp(-(2k + 1)²
    pi²/(8 height²)) for low ones: Feller (1971), "An Introduction to Probability Theory and Its
    Applications II", section X.5. NaN where height is.
    """
    c = np.asarray(height, np.float64)
    odd, signs = 2.0 * np.arange(_TERMS) + 1.0, (-1.0) ** np.arange(_TERMS)
    high = np.maximum(c, 1.0)[..., None]
    first = special.log_ndtr(-high)
    beyond = (signs * np.exp(special.log_ndtr(-odd * high) - first)).sum(axis=-1)
    low = np.clip(c, 1e-3, 1.0)[..., None]
    inside = (4.0 / np.pi) * (signs / odd * np.exp(-((odd * np.pi / low) ** 2) / 8.0)).sum(axis=-1)
    log_p = np.where(c >= 1.0, np.log(4.0) + first[..., 0] + np.log(beyond), np.log1p(-inside))
    return np.where(np.isnan(c), np.nan, np.minimum(log_p, 0.0))


@lru_cache(maxsize=256)
def _level(alpha: float) -> float:
    return float(bisect(lambda c: log_crossing(c) - np.log(alpha), 0.0, _HIGHEST))


def _within(fraction: npt.ArrayLike) -> FloatArray:
    return np.minimum(np.asarray(fraction, np.float64), 1.0)
