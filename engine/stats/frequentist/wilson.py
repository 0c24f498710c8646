"""Wilson's score interval of a share."""

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray


def share_interval(
    hits: npt.ArrayLike, n: npt.ArrayLike, alpha: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Compute the interval of a share at two-sided `alpha`: all p with |x - n p| <= z sqrt(n p (1 - p)).

    Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22, without
    a continuity correction. Between 0 and 1, also where no visitor converts, or every visitor; elementwise,
    NaN without visitors.
    """
    hit, visitors, level = np.broadcast_arrays(*(np.asarray(value, np.float64) for value in (hits, n, alpha)))
    seen = visitors > 0
    size = np.where(seen, visitors, 1.0)
    z2 = np.square(scipy.special.ndtri(level / 2.0))
    reach = np.sqrt(z2 * (hit * (size - hit) / size + z2 / 4.0))
    # The bounds multiply to x² / (n (n + z²)): the smaller of each pair without subtracting near-equals.
    high = (hit + z2 / 2.0 + reach) / (size + z2)
    missed_high = (size - hit + z2 / 2.0 + reach) / (size + z2)
    low = np.square(hit) / (size * (size + z2) * high)
    missed_low = np.square(size - hit) / (size * (size + z2) * missed_high)
    rare = hit <= size - hit
    return (
        np.where(seen, np.where(rare, low, 1.0 - missed_high), np.nan),
        np.where(seen, np.where(rare, high, 1.0 - missed_low), np.nan),
    )
