"""Miettinen and Nurminen's score interval of the difference of two shares."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.frequentist.wilson import share_interval

_ITERATIONS = 100
# Steps of the search below this part of the distance from the estimate to its bound end it.
_TOLERANCE = 1e-8


def difference_interval(tables: Tables, alpha: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of p_t - p_c at two-sided `alpha`: the differences d with |z(d)| <= z_{1-alpha/2}.

    z(d) = (x_t/n_t - x_c/n_c - d) / sqrt(V N / (N - 1)), N = n_t + n_c, with V the variance under the most
    likely shares that differ by d: Miettinen and Nurminen (1985), "Comparative analysis of two rates",
    Statistics in Medicine 4. z(0) is the pooled score z of `two_sample.score_z` times sqrt((N - 1) / N), so
    that the interval leaves out 0 where that test is significant, but for a p within that factor of `alpha`.
    Between -1 and 1, also with no conversions; elementwise, NaN without visitors.
    """
    seen = tables.have_visitors
    low, high = np.full(seen.shape, np.nan), np.full(seen.shape, np.nan)
    if seen.any():
        level = np.broadcast_to(np.asarray(alpha, np.float64), seen.shape)[seen]
        low[seen], high[seen] = _bounds(_by_rarer_outcome(tables[seen]), level)
    return low, high


def _by_rarer_outcome(tables: Tables) -> Tables:
    """Swap conversions with their absence, and the arms, where most convert: the difference is the same."""
    often = 2.0 * (tables.hits + tables.control_hits) > tables.n + tables.control_n
    swapped = Tables(
        control_hits=tables.n - tables.hits,
        control_n=tables.n,
        hits=tables.control_n - tables.control_hits,
        n=tables.control_n,
    )
    return Tables.where(often, swapped, tables)


def _bounds(tables: Tables, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Search both bounds at once, from Newcombe's (1998, Statistics in Medicine 17, method 10)."""
    observed = tables.share - tables.control_share
    low, high = share_interval(tables.hits, tables.n, alpha)
    control_low, control_high = share_interval(tables.control_hits, tables.control_n, alpha)
    below = np.hypot(tables.share - low, control_high - tables.control_share)
    above = np.hypot(high - tables.share, tables.control_share - control_low)
    # The first row is that of the lower bounds, the second that of the upper ones.
    critical = -scipy.special.ndtri(alpha / 2.0) * np.array([[-1.0], [1.0]])

    def excess(difference: FloatArray) -> FloatArray:
        gap: FloatArray = difference - observed - critical * _standard_error(tables, difference)
        return gap

    edge = np.ones_like(observed)
    bounds = _search(
        excess,
        np.stack([observed - below, observed + above]),
        low=np.stack([-edge, observed]),
        high=np.stack([observed, edge]),
        tolerance=_TOLERANCE * np.stack([below, above]),
    )
    return bounds[0], bounds[1]


def _standard_error(tables: Tables, difference: FloatArray) -> FloatArray:
    """Compute the standard error of the observed difference if the true one is `difference`."""
    control = _likeliest_control(tables, difference)
    share = np.clip(control + difference, 0.0, 1.0)
    both = tables.n + tables.control_n
    variance = share * (1.0 - share) / tables.n + control * (1.0 - control) / tables.control_n
    error: FloatArray = np.sqrt(variance * both / (both - 1.0))
    return error


def _likeliest_control(tables: Tables, difference: FloatArray) -> FloatArray:
    """Find the most likely share of the control, given the difference: the middle root of a cubic.

    a p³ + b p² + c p + d = 0 in closed form by its three real roots (Miettinen and Nurminen's appendix), and
    by a step of Newton's method, because the closed form loses digits of a small share.
    """
    both, converted = tables.n + tables.control_n, tables.hits + tables.control_hits
    b = ((tables.n + 2.0 * tables.control_n) * difference - both - converted) / both
    c = ((tables.control_n * difference - both - 2.0 * tables.control_hits) * difference + converted) / both
    d = tables.control_hits * difference * (1.0 - difference) / both
    third = b / 3.0
    turn = third**3 - third * c / 2.0 + d / 2.0
    size = np.sqrt(np.maximum(third**2 - c / 3.0, 0.0))
    ratio = np.divide(np.abs(turn), size**3, out=np.zeros_like(turn), where=size > 0)
    angle = (np.pi + np.arccos(np.minimum(ratio, 1.0))) / 3.0
    root = 2.0 * np.where(turn < 0, -size, size) * np.cos(angle) - third
    slope = (3.0 * root + 2.0 * b) * root + c
    step = np.divide(((root + b) * root + c) * root + d, slope, out=np.zeros_like(root), where=slope != 0)
    least, most = np.maximum(-difference, 0.0), np.minimum(1.0 - difference, 1.0)
    found: FloatArray = np.clip(np.clip(root, least, most) - np.clip(step, -root, root), least, most)
    return found


def _search(
    rising: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    low: FloatArray,
    high: FloatArray,
    tolerance: FloatArray,
) -> FloatArray:
    """Find the roots between `low` and `high` by the secant method, halving where a step would leave them."""
    at, last, at_last = np.clip(start, low, high), start, start
    for turn in range(_ITERATIONS):
        value = rising(at)
        is_below: BoolArray = value < 0
        low, high = np.where(is_below, at, low), np.where(is_below, high, at)
        change = value - at_last
        # Far from an edge the function is close to the difference itself, so the first slope is 1.
        slope = np.divide(at - last, change, out=np.ones_like(at), where=(change != 0) & (turn > 0))
        step = value * slope
        is_found = np.abs(step) <= tolerance
        if is_found.all():
            return np.clip(at - step, low, high)
        is_inside = (at - step > low) & (at - step < high)
        last, at_last = at, value
        at = np.where(is_found, at, np.where(is_inside, at - step, 0.5 * (low + high)))
    return at
