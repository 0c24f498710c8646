"""Where falling functions cross zero, many at once."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_TOLERANCE = 1e-13
_ITERATIONS = 100


def falling_root(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> FloatArray:
    """The x between `low` and `high` at which `function`, falling and elementwise, is 0.

    Where the interval does not hold the root it is widened first, doubling its width on that side.
    False position with the step of Anderson and Björck (1973), BIT 13.
    """
    low, at_low = _widen(function, low, low - high, 1.0)
    high, at_high = _widen(function, high, high - low, -1.0)
    root = high
    for _ in range(_ITERATIONS):
        gap = at_high - at_low
        middle = np.where(gap < 0, (low * at_high - high * at_low) / np.where(gap < 0, gap, -1.0), low)
        at_middle = function(middle)
        if np.all((np.abs(middle - root) <= _TOLERANCE * np.maximum(1.0, np.abs(middle))) | (at_middle == 0)):
            return middle
        root = middle
        above = at_middle > 0
        # The end that stays is pulled towards zero, or it would stay for ever.
        pull_high = _pull(at_middle, at_low)
        pull_low = _pull(at_middle, at_high)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        at_low, at_high = (
            np.where(above, at_middle, at_low * pull_low),
            np.where(above, at_high * pull_high, at_middle),
        )
    return root


def _pull(at_middle: FloatArray, replaced: FloatArray) -> FloatArray:
    """How much the value at the kept end shrinks after `at_middle` has replaced the value at the other."""
    share = 1.0 - np.divide(at_middle, replaced, out=np.ones_like(at_middle), where=replaced != 0)
    return np.where(share > 0, share, 0.5)


def _widen(
    function: Callable[[FloatArray], FloatArray], end: FloatArray, step: FloatArray, sign: float
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
