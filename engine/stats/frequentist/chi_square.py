"""Pearson's chi-square test of counts against expected shares: the sample ratio test."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray

# The chi-square approximation needs this many expected visitors in every arm.
MIN_EXPECTED = 5
_SMALLEST_P = np.nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Test of each row of counts, arms along the last axis.

    `statistic` and its degrees of freedom `df` are 0 for rows too small to test; `tested` flags the cells
    of rows that are tested, arms without a share left out.
    """

    statistic: FloatArray
    df: npt.NDArray[np.int64]
    tested: BoolArray

    @property
    def log_p(self) -> FloatArray:
        """Log p value of each row, never -inf; NaN for rows too small to test."""
        p = scipy.special.chdtrc(np.maximum(self.df, 1), self.statistic)
        return np.where(self.df > 0, np.log(np.maximum(p, _SMALLEST_P)), np.nan)


def goodness_of_fit(counts: npt.ArrayLike, shares: npt.ArrayLike) -> GoodnessOfFit:
    """Test counts against shares, arms along the last axis; arms without a share are left out.

    sum (count - expected)² / expected, with one degree of freedom less than there are arms: Pearson (1900),
    Philosophical Magazine 50. Rows with fewer than two arms, or MIN_EXPECTED visitors expected in any of
    them, are not tested.
    """
    observed, share = np.broadcast_arrays(np.asarray(counts, np.float64), np.asarray(shares, np.float64))
    has_share = share > 0
    expected = share * np.where(has_share, observed, 0.0).sum(axis=-1, keepdims=True)
    is_large = np.where(has_share, expected, np.inf).min(axis=-1, initial=np.inf) >= MIN_EXPECTED
    tested = has_share & (is_large & (has_share.sum(axis=-1) > 1))[..., None]
    base = np.where(tested, expected, 1.0)
    return GoodnessOfFit(
        statistic=np.where(tested, (observed - base) ** 2 / base, 0.0).sum(axis=-1),
        df=np.maximum(tested.sum(axis=-1) - 1, 0),
        tested=tested,
    )
