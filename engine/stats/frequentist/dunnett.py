"""Dunnett's test: several variants against a shared control."""

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.stats.arrays import FloatArray
from engine.stats.roots import falling_root

# Arms that share nearly all of their noise are treated as sharing this much: the p is then a little large.
_MOST_SHARED = 0.999
_PANELS = 40
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# Nodes and weights on [0, 1], in panels.
_UNIT_NODES = ((np.arange(_PANELS)[:, None] + 0.5 * (1.0 + _NODES)) / _PANELS).ravel()
_UNIT_WEIGHTS = np.tile(0.5 * _WEIGHTS / _PANELS, _PANELS)
# Margin of the search beyond the bounds of the critical value, for rounding.
_MARGIN = 0.01
_LOG_SQRT_TWO_OVER_PI = 0.5 * np.log(2.0 / np.pi)


def shared_noise(control_variance: npt.ArrayLike, variances: FloatArray) -> FloatArray:
    """Compute the control's share of each comparison's variance; variants along the last axis.

    Variances are those of the arms' means. Two comparisons correlate by the root of the product of theirs.
    NaN for a variant that has no variance.
    """
    control = np.asarray(control_variance, np.float64)[..., None]
    total = control + variances
    shared: FloatArray = np.divide(control, total, out=np.full(total.shape, np.nan), where=total > 0)
    return shared


def log_p_dunnett(z: FloatArray, shared: FloatArray) -> FloatArray:
    """Compute the log two-sided p of each variant's z, adjusted for all variants of its row.

    P(max_i |Z_i| > |z|) with Z_i = sqrt(s_i) U + sqrt(1 - s_i) E_i, by integrating over the control's noise
    U: Dunnett (1955), JASA 50, for large samples. Exact where Bonferroni is conservative; in logs, without
    underflow. NaN where z or the variant's share of noise is; such a variant does not count.
    """
    counted = np.isfinite(z) & np.isfinite(shared)
    adjusted = _log_beyond(np.where(counted, np.abs(z), 0.0), np.where(counted, shared, np.nan))
    return np.where(counted, np.minimum(adjusted, 0.0), np.nan)


def critical_dunnett(alpha: float, shared: FloatArray) -> FloatArray:
    """Find the |z| that any variant of a row exceeds with probability `alpha`; one per row.

    NaN for a row without variants.
    """
    some = np.asarray(np.isfinite(shared).any(axis=-1))
    rows = np.where(some[..., None], shared, 0.5)

    def log_excess(critical: FloatArray) -> FloatArray:
        excess: FloatArray = _log_beyond(critical[..., None], rows)[..., 0] - np.log(alpha)
        return excess

    # It lies between the critical value of one comparison alone and that of Bonferroni.
    count = np.isfinite(rows).sum(axis=-1)
    low, high = -special.ndtri(alpha / 2.0) - _MARGIN, -special.ndtri(alpha / 2.0 / count) + _MARGIN
    return np.where(some, falling_root(log_excess, np.full(some.shape, low), high), np.nan)


def _log_beyond(limit: FloatArray, shared: FloatArray) -> FloatArray:
    """Log P(max |Z| > limit) for each limit along the last axis, over the variants along that of `shared`."""
    there = np.isfinite(shared)[..., None, None, :]
    part = np.where(there, np.minimum(shared, _MOST_SHARED)[..., None, None, :], 0.0)
    reach = limit[..., None] + 9.0
    noise = reach * _UNIT_NODES
    shift, left = np.sqrt(part) * noise[..., None], np.sqrt(1.0 - part)
    far = limit[..., None, None]
    log_each = np.logaddexp(special.log_ndtr((shift - far) / left), special.log_ndtr((-shift - far) / left))
    log_each = np.where(there, np.minimum(log_each, 0.0), -np.inf)
    # U is symmetric, so half of its density is integrated twice.
    log_density = _LOG_SQRT_TWO_OVER_PI - 0.5 * noise**2 + np.log(reach * _UNIT_WEIGHTS)
    return np.asarray(special.logsumexp(log_density + _log_any(log_each), axis=-1))


def _log_any(log_each: FloatArray) -> FloatArray:
    """Log probability that at least one of independent events along the last axis happens."""
    with np.errstate(divide="ignore"):
        log_none = np.log1p(-np.exp(log_each)).sum(axis=-1)
        log_any = np.log(-np.expm1(log_none))
    # Too small for the probabilities themselves: then their sum is exact.
    tiny = log_none > -1e-290
    return np.where(tiny, special.logsumexp(log_each, axis=-1), log_any)
