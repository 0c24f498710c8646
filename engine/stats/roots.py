"""Elementwise roots: false position, the secant method and bisection."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import FloatArray

Function = Callable[[FloatArray], FloatArray]

_TOLERANCE = 1e-13
_ITERATIONS = 100
_SECANT_STEPS, _SECANT_TOLERANCE = 30, 1e-7


def falling_root(function: Function, low: FloatArray, high: FloatArray) -> FloatArray:
    """Find the root of `function`, falling and finite elementwise, by false position.

    The search starts between `low` and `high`; an end that does not bracket the root is moved first, by
    doubling steps. False position with the step of Anderson and Björck (1973), BIT 13.
    """
    low, at_low = _widen(function, low, low - high, 1.0)
    high, at_high = _widen(function, high, high - low, -1.0)
    root = high
    for _ in range(_ITERATIONS):
        gap = at_high - at_low
        crosses = gap < 0
        middle = np.where(crosses, (low * at_high - high * at_low) / np.where(crosses, gap, -1.0), low)
        at_middle = function(middle)
        close = np.abs(middle - root) <= _TOLERANCE * np.maximum(1.0, np.abs(middle))
        root = middle
        if np.all(close | (at_middle == 0)):
            break
        above = at_middle > 0
        # The value at the kept end is scaled towards zero, or that end would never move.
        scaled_low, scaled_high = at_low * _scale(at_middle, at_high), at_high * _scale(at_middle, at_low)
        low, at_low = np.where(above, middle, low), np.where(above, at_middle, scaled_low)
        high, at_high = np.where(above, high, middle), np.where(above, scaled_high, at_middle)
    return root


def _scale(at_middle: FloatArray, replaced: FloatArray) -> FloatArray:
    """Factor on the value at the kept end, by Anderson and Björck."""
    ratio = np.divide(at_middle, replaced, out=np.zeros_like(at_middle), where=replaced != 0)
    return np.where(ratio < 1, 1.0 - ratio, 0.5)


def _widen(
    function: Function, end: FloatArray, step: FloatArray, sign: float
) -> tuple[FloatArray, FloatArray]:
    """Move `end` by doubling steps until the function there has `sign`."""
    value = function(end)
    for _ in range(_ITERATIONS):
        missing = value * sign < 0
        if not missing.any():
            break
        end = np.where(missing, end + step, end)
        step = 2.0 * step
        value = function(end)
    return end, value


def secant_root(function: Function, low: FloatArray, high: FloatArray, slope: FloatArray) -> FloatArray:
    """Find the root in (`low`, `high`] of a rising, nearly straight `function`, elementwise.

    From `low`, where its slope is about `slope`, by the secant method: a step below 1e-7 of the root leaves a
    far smaller error. `high` where the function stays below 0, and NaN where the steps do not end.
    """
    before, at_before = low, function(low)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.minimum(low - at_before / slope, high)
        for _ in range(_SECANT_STEPS):
            at_root = function(root)
            steepness = (at_root - at_before) / (root - before)
            before, at_before = root, at_root
            step = np.where(at_root == 0.0, 0.0, at_root / steepness)
            root = np.minimum(before - step, high)
            if np.all(~(np.abs(root - before) > _SECANT_TOLERANCE * np.abs(root))):
                return np.where(root > low, root, np.nan)
    return np.full(root.shape, np.nan)


def bisect(
    falling: Callable[[FloatArray], FloatArray], low: npt.ArrayLike, high: npt.ArrayLike
) -> FloatArray:
    """Find the root of `falling` in [`low`, `high`] by halving until neighbouring floats, elementwise.

    Returns an end of the interval where the function keeps its sign.
    """
    low, high = (np.array(end, np.float64) for end in np.broadcast_arrays(low, high))
    while True:
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            return middle
        above = falling(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
