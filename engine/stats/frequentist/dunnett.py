"""Dunnett's test: several variants against a shared control."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.roots import falling_root

# Arms that share nearly all of their noise are treated as sharing this much: the p is then a little large.
_MOST_SHARED = 0.999
# Beyond this |z| probabilities are computed in logs, before they underflow.
_FAR = 30.0
# The control's noise is integrated over so many standard deviations beyond where the limit is exceeded.
_REACH = 9.0
# Pairs of a row and a limit per block, so that the nodes stay in the processor's cache.
_PAIRS = 64
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
    low = -scipy.special.ndtri(alpha / 2.0) - _MARGIN
    high = -scipy.special.ndtri(alpha / 2.0 / count) + _MARGIN
    return np.where(some, falling_root(log_excess, np.full(some.shape, low), high), np.nan)


def _log_beyond(limit: FloatArray, shared: FloatArray) -> FloatArray:
    """Log P(max |Z| > limit) for each limit along the last axis, over the variants along that of `shared`."""
    parts = np.where(np.isfinite(shared), np.minimum(shared, _MOST_SHARED), np.nan)
    rows = np.repeat(np.arange(parts.size // parts.shape[-1]), limit.shape[-1])
    limits, each = limit.ravel(), parts.reshape(-1, parts.shape[-1])[rows]
    # The integrand changes over the control's noise, and over what is left of a comparison's in its unit.
    most = np.fmax.reduce(each, axis=-1, initial=0.0)
    steps = (limits + _REACH) / np.minimum(1.0, np.sqrt(1.0 / np.maximum(most, 0.5) - 1.0))
    rule = np.searchsorted(_MOST_STEPS, steps)
    log_p = np.empty(limits.shape)
    for which, (nodes, weights) in enumerate(_RULES):
        for is_far, integrate in ((False, _log_integral), (True, _log_integral_far)):
            pairs = np.flatnonzero((rule == which) & ((limits > _FAR) == is_far))
            for first in range(0, len(pairs), _PAIRS):
                some = pairs[first : first + _PAIRS]
                log_p[some] = integrate(limits[some], each[some], nodes, weights)
    return log_p.reshape(limit.shape)


def _log_integral(limit: FloatArray, part: FloatArray, nodes: FloatArray, weights: FloatArray) -> FloatArray:
    """Integrate pairs of a limit and its row of parts; nodes and weights are on [0, 1]."""
    reach = (limit + _REACH)[:, None]
    noise = reach * nodes
    beyond = np.zeros(noise.shape)
    for column in part.T:
        shift, far = _in_own_noise(noise, limit, column)
        one = scipy.special.ndtr(shift - far)
        one += scipy.special.ndtr(-shift - far)
        # A variant that is not there is never beyond; the chance of any grows without cancellation.
        beyond += np.where(np.isnan(column)[:, None], 0.0, one) * (1.0 - beyond)
    # U is symmetric, so half of its density is integrated twice.
    density = np.exp(_LOG_SQRT_TWO_OVER_PI - 0.5 * noise**2) * reach * weights
    chance = np.minimum((density * beyond).sum(axis=-1), 1.0)
    log_p: FloatArray = np.log(chance, out=np.full(chance.shape, -np.inf), where=chance > 0)
    return log_p


def _log_integral_far(
    limit: FloatArray, part: FloatArray, nodes: FloatArray, weights: FloatArray
) -> FloatArray:
    """Integrate in logs, without underflow."""
    reach = (limit + _REACH)[:, None]
    noise = reach * nodes
    log_any = np.full(noise.shape, -np.inf)
    for column in part.T:
        shift, far = _in_own_noise(noise, limit, column)
        one = np.logaddexp(scipy.special.log_ndtr(shift - far), scipy.special.log_ndtr(-shift - far))
        with np.errstate(divide="ignore"):
            one += np.log(-np.expm1(log_any))
        log_any = np.minimum(np.logaddexp(log_any, np.where(np.isnan(column)[:, None], -np.inf, one)), 0.0)
    log_density = _LOG_SQRT_TWO_OVER_PI - 0.5 * noise**2 + np.log(reach * weights)
    return np.asarray(scipy.special.logsumexp(log_density + log_any, axis=-1))


def _in_own_noise(noise: FloatArray, limit: FloatArray, part: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide the control's part and the limit by what is left of a comparison's deviation."""
    known = np.nan_to_num(part)
    left = np.sqrt(1.0 - known)
    return (np.sqrt(known) / left)[:, None] * noise, (limit / left)[:, None]


def _gauss_legendre(count: int, panels: int = 1) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [0, 1], so many in each of equal panels."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    starts = np.arange(panels)[:, None]
    return ((starts + 0.5 * (1.0 + nodes)) / panels).ravel(), np.tile(0.5 * weights / panels, panels)


# The rule of quadrature for so many steps, and that for more.
_MOST_STEPS = np.array([15.0, 34.0])
_RULES = (_gauss_legendre(56), _gauss_legendre(112), _gauss_legendre(8, panels=40))
