"""How many, the mean, and the centred sum of squares: all that a test of means needs, mergeable exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and centred second moment, elementwise over arrays of one shape.

    `n` is the number of visitors, `mean` the mean per visitor in the metric's unit (a share for
    conversions, cents for revenue), `m2` the sum of squared deviations from the mean. An empty cell is
    `n = 0, mean = 0, m2 = 0`. Raw sums of squares cancel at large means; centred ones do not.
    """

    n: FloatArray
    mean: FloatArray
    m2: FloatArray

    @classmethod
    def of(cls, values: npt.ArrayLike, axis: int = -1) -> Self:
        """Take the moments of `values` along `axis`, in two passes."""
        array = np.asarray(values, dtype=np.float64)
        n = np.full(array.sum(axis=axis).shape, array.shape[axis], dtype=np.float64)
        if array.shape[axis] == 0:
            return cls(n, np.zeros_like(n), np.zeros_like(n))
        mean = array.mean(axis=axis)
        deviations = array - np.expand_dims(mean, axis)
        return cls(n, np.asarray(mean), np.asarray((deviations**2).sum(axis=axis)))

    @classmethod
    def of_shares(cls, successes: npt.ArrayLike, n: npt.ArrayLike) -> Self:
        """Moments of values that are 0 or 1: `successes` ones among `n`."""
        ones, total = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
        mean = np.divide(ones, total, out=np.zeros_like(total), where=total > 0)
        return cls(total.copy(), mean, ones * (1.0 - mean))

    @property
    def total(self) -> FloatArray:
        """The sum of the values."""
        return self.n * self.mean

    @property
    def variance(self) -> FloatArray:
        """The unbiased sample variance; 0 where n < 2."""
        return np.divide(self.m2, self.n - 1.0, out=np.zeros_like(self.m2), where=self.n > 1)

    def merge(self, other: Self) -> Self:
        """Moments of both samples together.

        Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm for computing
        sample variances".
        """
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        delta = other.mean - self.mean
        return type(self)(n, self.mean + delta * share, self.m2 + other.m2 + delta**2 * self.n * share)

    def sum_over(self, axis: int | Sequence[int]) -> Self:
        """Merge all cells along `axis`: the same as merging them one after another."""
        axes = axis if isinstance(axis, int) else tuple(axis)
        n = self.n.sum(axis=axes)
        mean = np.divide((self.n * self.mean).sum(axis=axes), n, out=np.zeros_like(n), where=n > 0)
        spread = self.n * (self.mean - np.expand_dims(mean, axes)) ** 2
        return type(self)(n, mean, self.m2.sum(axis=axes) + spread.sum(axis=axes))
