"""Values counted in buckets of 1% relative width, so that quantiles follow from sums that can be merged."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import FloatArray, IntArray
from engine.stats.frequentist.quantiles import ValueCounts

# Ratio of the limits of a bucket.
WIDTH: Final = 1.01
# Whole numbers of a smaller size have a bucket of their own.
EXACT: Final = 100
# Number of the bucket of 1; those of smaller values are below it, and all above EXACT.
_ONE: Final = 100_000
_SMALLEST: Final = 1e-300
# Standard deviation of values within a bucket, over the value that it stands for: those of any are alike.
_ROUNDING: Final = (WIDTH - 1.0) / 12.0**0.5


@dataclass(frozen=True, slots=True)
class ValueBuckets:
    """Counts of visitors by the bucket of their value, in rising order of bucket numbers: (B,) and (B,).

    Whole numbers below EXACT in size have buckets of their own, 0 among them; other values those of WIDTH,
    [1.01^i, 1.01^(i + 1)), negative ones apart. A bucket stands for its geometric middle, which is within
    0.5% of its values. Counts of the same buckets add up, in any order, and can be taken back: as in
    DDSketch, Masson, Rim and Lee (2019), VLDB 12, without its limit on the number of buckets: that of values
    that span ten powers of 10 is 2,314.
    """

    buckets: IntArray
    counts: IntArray

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Count values, one a visitor; all must be finite."""
        buckets, counts = np.unique(bucket_of(values), return_counts=True)
        return cls(buckets, counts.astype(np.int64))

    @property
    def n(self) -> int:
        """Number of visitors."""
        return int(self.counts.sum())

    def merge(self, other: Self) -> Self:
        """Add the counts of other visitors."""
        return self._summed(other.buckets, other.counts)

    def without(self, other: Self) -> Self:
        """Take back the counts of visitors that were counted; ValueError where there are not as many."""
        return self._summed(other.buckets, -other.counts)

    def value_counts(self) -> ValueCounts:
        """List the values that buckets stand for, with their counts."""
        return counted(self.buckets, self.counts)

    def _summed(self, buckets: IntArray, counts: IntArray) -> Self:
        together, places = np.unique(np.concatenate([self.buckets, buckets]), return_inverse=True)
        totals = np.zeros(len(together), np.int64)
        np.add.at(totals, places, np.concatenate([self.counts, counts]))
        if (totals < 0).any():
            raise ValueError("a bucket has fewer visitors than are taken back from it")
        return type(self)(together[totals > 0], totals[totals > 0])


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
    numbers = np.sign(array).astype(np.int64) * (_ONE + power)
    return np.asarray(np.where(is_exact, np.where(is_exact, array, 0.0).astype(np.int64), numbers))


def value_of(buckets: IntArray) -> FloatArray:
    """Return the value that each bucket stands for."""
    is_exact = np.abs(buckets) < EXACT
    power = np.where(is_exact, 0, np.abs(buckets) - _ONE)
    return np.asarray(np.where(is_exact, buckets, np.sign(buckets) * WIDTH ** (power + 0.5)))
