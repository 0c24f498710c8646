"""Log p values of z and t statistics, without underflow."""

import numpy as np
import scipy

from engine.stats.arrays import BoolArray, FloatArray

# Below this p the incomplete beta function nears the end of float range, and the tail is integrated instead.
_STUDENT_UNDERFLOW = 1e-250
_LAGUERRE_NODES, _LAGUERRE_WEIGHTS = np.polynomial.laguerre.laggauss(48)


def log_p_normal(z: FloatArray) -> FloatArray:
    """Compute the log of the two-sided p of a standard normal statistic; finite for every finite z."""
    log_p: FloatArray = np.log(2.0) + scipy.special.log_ndtr(-np.abs(z))
    return log_p


def log_p_one_sided(log_p: FloatArray, gain: FloatArray) -> FloatArray:
    """Convert two-sided log p values of symmetric tests to one-sided ones, of a `gain` above 0.

    p/2 where the observed gain is above 0, and 1 - p/2 elsewhere; NaN where either is.
    """
    half = np.log(0.5) + log_p
    one_sided: FloatArray = np.where(gain > 0, half, np.log1p(-np.exp(half)) + 0.0 * gain)
    return one_sided


def signed_z(log_p: FloatArray, is_higher: BoolArray) -> FloatArray:
    """Convert two-sided log p to z, positive where the variant is higher; NaN where p is.

    The inverse of `log_p_normal`.
    """
    size = -scipy.special.ndtri_exp(np.minimum(log_p, 0.0) - np.log(2.0))
    return np.asarray(np.where(is_higher, size, -size))


def log_p_student(t: FloatArray, df: FloatArray) -> FloatArray:
    """Compute the log of the two-sided p of Student's t with `df` degrees of freedom; finite for finite t."""
    t, df = np.broadcast_arrays(np.abs(t), df)
    p = 2.0 * scipy.special.stdtr(df, -t)
    log_p: FloatArray = np.log(p, out=np.full(p.shape, np.nan), where=p > 0)
    far = p < _STUDENT_UNDERFLOW
    if far.any():
        log_p[far] = _log_p_student_far(t[far], df[far])
    return log_p


def _log_p_student_far(t: FloatArray, df: FloatArray) -> FloatArray:
    """Log two-sided p far in the tail, by Gauss-Laguerre quadrature.

    With u² + df = (df + t²) exp(2w/df), the tail beyond t is its density at t times
    (df + t²)/df · ∫ exp(-w) / sqrt(t² + df (1 - exp(-2w/df))) dw over w > 0: smooth where t is large.
    """
    rise = -df[:, None] * np.expm1(-2.0 * _LAGUERRE_NODES / df[:, None])
    integral = (_LAGUERRE_WEIGHTS / np.hypot(t[:, None], np.sqrt(rise))).sum(axis=-1)
    # log(1 + t²/df), without squaring a t that is beyond the root of the largest float.
    log_spread = np.logaddexp(0.0, 2.0 * np.log(t) - np.log(df))
    log_density = (
        np.log(scipy.special.poch(df / 2.0, 0.5)) - 0.5 * np.log(df * np.pi) - 0.5 * (df + 1.0) * log_spread
    )
    log_p: FloatArray = np.log(2.0) + log_density + log_spread + np.log(integral)
    return log_p
