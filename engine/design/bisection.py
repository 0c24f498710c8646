"""Where falling functions cross zero when nothing but their order is known."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def bisect(
    falling: Callable[[FloatArray], FloatArray], low: npt.ArrayLike, high: npt.ArrayLike
) -> FloatArray:
    """The x in [`low`, `high`] where `falling` passes from positive to not, elementwise.

    An end of the interval where the function keeps its sign. Halving until neighbouring floats.
    """
    low, high = (np.array(end, np.float64) for end in np.broadcast_arrays(low, high))
    while True:
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            return middle
        above = falling(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
