"""Buckets of values, of 1% relative width: quantiles follow from counts of them, which can be merged.

Whole numbers below EXACT in size have buckets of their own, 0 among them; other values those of WIDTH,
[1.01^i, 1.01^(i + 1)), negative ones apart. A bucket stands for its geometric middle, which is within 0.5% of
its values. Counts add up, in any order, and can be taken back: as in DDSketch, Masson, Rim and Lee (2019),
VLDB 12, without its limit on the number of buckets: that of values that span ten powers of 10 is 2,314.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import FloatArray, IntArray
from engine.stats.frequentist.quantiles import ValueCounts

# Ratio of the limits of a bucket.
WIDTH: Final = 1.01
# Whole numbers of a smaller size have a bucket of their own.
EXACT: Final = 100
# Number of the bucket of 1; those of smaller values are below it, and all above EXACT.
ONE: Final = 100_000
_SMALLEST: Final = 1e-300
# Standard deviation of values within a bucket, over the value that it stands for: those of any are alike.
_ROUNDING: Final = (WIDTH - 1.0) / 12.0**0.5


def count_values(values: npt.ArrayLike) -> ValueCounts:
    """Count values, one a visitor, by bucket; all must be finite."""
    return counted(*np.unique(bucket_of(values), return_counts=True))


def counted(buckets: IntArray, counts: IntArray) -> ValueCounts:
    """List the values that buckets stand for, in rising order, with their counts and their rounding."""
    values = value_of(buckets)
    order = np.argsort(values, kind="stable")
    rounding = np.where(np.abs(buckets) < EXACT, 0.0, _ROUNDING * np.abs(values))
    return ValueCounts(values[order], counts[order].astype(np.float64), rounding[order])


def bucket_of(values: npt.ArrayLike) -> IntArray:
    """Number the bucket of each value: a small whole number itself, or beyond EXACT with the value's sign."""
    array = np.asarray(values, np.float64)
    size = np.abs(array)
    is_exact = (size < EXACT) & (array == np.rint(array))
    power = np.floor(np.log(np.maximum(size, _SMALLEST)) / np.log(WIDTH)).astype(np.int64)
    numbers = np.sign(array).astype(np.int64) * (ONE + power)
    return np.asarray(np.where(is_exact, np.where(is_exact, array, 0.0).astype(np.int64), numbers))


def value_of(buckets: IntArray) -> FloatArray:
    """Return the value that each bucket stands for."""
    is_exact = np.abs(buckets) < EXACT
    power = np.where(is_exact, 0, np.abs(buckets) - ONE)
    return np.asarray(np.where(is_exact, buckets, np.sign(buckets) * WIDTH ** (power + 0.5)))
