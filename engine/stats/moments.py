"""Moments of one value per visitor: count, mean and centred sums, mergeable."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import AnyArray, ArrayRecord, BoolArray, FloatArray

# What the last digits of a third moment may add to its bound.
THIRD_ROUNDING = 1e-9
# Deviations from the mean that are rounding, as a share of the mean.
_NOISE = 64.0 * float(np.finfo(np.float64).eps)


def no_third_moment() -> FloatArray:
    """Return what stands for a third moment that is not known."""
    return np.zeros(())


def are_constant(n: FloatArray, mean: FloatArray, m2: FloatArray) -> BoolArray:
    """Tell where values differ from their mean by rounding only, so that they are one value.

    The mean of equal values, such as 3.3, is rounded, and what is left would count as a variance.
    """
    constant: BoolArray = m2 <= n * (_NOISE * mean) ** 2
    return constant


@dataclass(frozen=True, slots=True)
class Moments(ArrayRecord):
    """Count, mean and centred second and third moments, elementwise over arrays of one shape.

    `n` is the number of visitors, `mean` the mean per visitor in the metric's unit (a share for
    conversions, cents for revenue), `m2` the sum of squared deviations from the mean and `m3` that of their
    cubes. An `m3` that is not known is 0, as of symmetrical values, and gives the plain test of Welch.
    An empty cell is 0 in all. Raw sums of powers cancel at large means; centred ones do not.
    Raises InvalidEvidenceError for numbers that no sample can have.
    """

    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    m3: FloatArray = field(default_factory=no_third_moment)

    def __post_init__(self) -> None:
        if self.m3.shape == () != self.n.shape:
            object.__setattr__(self, "m3", np.full(self.n.shape, float(self.m3)))
        shapes = tuple(part.shape for part in (self.n, self.mean, self.m2, self.m3))
        if len(set(shapes)) > 1:
            raise InvalidEvidenceError(f"n, mean, m2 and m3 must have one shape; got {shapes}")
        known = np.isfinite(self.n) & np.isfinite(self.mean) & np.isfinite(self.m2) & np.isfinite(self.m3)
        if not known.all():
            raise InvalidEvidenceError("n, mean, m2 and m3 must be finite: leave out values that are missing")
        if ((self.n < 0) | (self.m2 < 0)).any():
            raise InvalidEvidenceError("n and m2 must not be negative")

    @classmethod
    def of(cls, values: npt.ArrayLike, axis: int = -1) -> Self:
        """Take the moments of `values` along `axis`, in two passes."""
        array = np.asarray(values, dtype=np.float64)
        n = np.full(array.sum(axis=axis).shape, array.shape[axis], dtype=np.float64)
        if array.shape[axis] == 0:
            return cls.of_zeros(n)
        mean = np.asarray(array.mean(axis=axis))
        deviations = array - np.expand_dims(mean, axis)
        squares = deviations * deviations
        m2, m3 = np.asarray(squares.sum(axis=axis)), np.asarray((squares * deviations).sum(axis=axis))
        return cls(n, mean, m2, m3).without_rounding(np.asarray(array.take(0, axis=axis)))

    @classmethod
    def of_zeros(cls, n: npt.ArrayLike) -> Self:
        """Take the moments of `n` values that are all 0."""
        total = np.array(n, np.float64)
        return cls(total, np.zeros(total.shape), np.zeros(total.shape))

    @classmethod
    def of_shares(cls, successes: npt.ArrayLike, n: npt.ArrayLike) -> Self:
        """Take the moments of `n` values of which `successes` are 1 and the others 0."""
        ones, total = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
        if ((ones < 0) | (ones > total)).any():
            raise InvalidEvidenceError("successes must lie between 0 and n")
        mean = np.divide(ones, total, out=np.zeros(total.shape), where=total > 0)
        m2 = ones * (1.0 - mean)
        return cls(total.copy(), mean, m2, m2 * (1.0 - 2.0 * mean))

    @classmethod
    def of_sums(
        cls,
        n: npt.ArrayLike,
        total: npt.ArrayLike,
        squares: npt.ArrayLike,
        cubes: npt.ArrayLike | None = None,
    ) -> Self:
        """Take the moments of `n` whole numbers from their sum and the sums of their squares and cubes.

        Exact up to one last division, so that nothing cancels. Sums beyond 64 bits are Python's
        integers, in arrays of objects. Without `cubes` the third moment is 0. It is 0, too, where the sums
        contradict each other, as those of clamped cubes do: |m3| is at most m2^1.5 in any sample.
        """
        counts, sums, squared = whole_numbers(n, total, squares)
        divisor = np.maximum(counts, 1)
        mean = np.asarray(sums / divisor, np.float64)
        m2 = np.asarray((counts * squared - sums * sums) / divisor, np.float64)
        if cubes is None:
            return cls(counts.astype(np.float64), mean, m2)
        counts, cubed = whole_numbers(counts, cubes)
        scaled = counts * (counts * cubed - 3 * sums * squared) + 2 * sums * sums * sums
        m3 = np.asarray(scaled / (divisor * divisor), np.float64)
        possible = np.abs(m3) <= m2**1.5 * (1.0 + THIRD_ROUNDING)
        return cls(counts.astype(np.float64), mean, m2, np.where(possible, m3, 0.0))

    @classmethod
    def of_groups(cls, values: npt.ArrayLike, groups: npt.NDArray[np.integer], count: int) -> Self:
        """Take the moments of each of `count` groups; `groups` has the group number of each value."""
        array = np.asarray(values, np.float64)
        n = np.bincount(groups, minlength=count).astype(np.float64)
        filled = np.maximum(n, 1.0)
        mean = np.bincount(groups, array, count) / filled
        # One sum of many values is rounded too often for the mean of equal ones to be their value.
        mean += np.bincount(groups, array - mean[groups], count) / filled
        deviations = array - mean[groups]
        m2, m3 = (np.bincount(groups, deviations**power, count).astype(np.float64) for power in (2, 3))
        some = np.zeros(count)
        some[groups] = array
        return cls(n, mean, m2, m3).without_rounding(some)

    def without_rounding(self, values: FloatArray) -> Self:
        """Make cells whose values differ by rounding only one value, of `values`, without any variance."""
        constant = are_constant(self.n, self.mean, self.m2)
        m2, m3 = (np.where(constant, 0.0, part) for part in (self.m2, self.m3))
        return type(self)(self.n, np.where(constant, values, self.mean), m2, m3)

    @property
    def total(self) -> FloatArray:
        """The sum of the values."""
        return self.n * self.mean

    def divide(self, by: FloatArray | float) -> Self:
        """Take the moments of the values divided by a number, such as that of the units in one."""
        return type(self)(self.n, self.mean / by, self.m2 / np.power(by, 2.0), self.m3 / np.power(by, 3.0))

    @property
    def variance(self) -> FloatArray:
        """The unbiased sample variance; 0 where n < 2."""
        variance: FloatArray = np.divide(self.m2, self.n - 1.0, out=np.zeros(self.n.shape), where=self.n > 1)
        return variance

    def merge(self, other: Self) -> Self:
        """Merge with the moments of another sample.

        Chan, Golub and LeVeque (1979), "Updating formulae and a pairwise algorithm for computing
        sample variances"; the third moment by Pébay (2008), Sandia report 2008-6212.
        """
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        delta = other.mean - self.mean
        between = delta**2 * self.n * share
        skewed = delta * between * (1.0 - 2.0 * share)
        weighted = 3.0 * delta * ((1.0 - share) * other.m2 - share * self.m2)
        merged = type(self)(
            n,
            self.mean + delta * share,
            self.m2 + other.m2 + between,
            self.m3 + other.m3 + skewed + weighted,
        )
        return merged.without_rounding(np.where(self.n > 0, self.mean, other.mean))

    def sum_over(self, axis: int | Sequence[int]) -> Self:
        """Merge all cells along `axis`."""
        axes = axis if isinstance(axis, int) else tuple(axis)
        n = np.asarray(self.n.sum(axis=axes))
        mean = np.divide((self.n * self.mean).sum(axis=axes), n, out=np.zeros_like(n), where=n > 0)
        apart = self.mean - np.expand_dims(mean, axes)
        spread = self.n * apart**2
        m3 = np.asarray((self.m3 + apart * (3.0 * self.m2 + spread)).sum(axis=axes))
        largest = np.where(self.n > 0, self.mean, -np.inf).max(axis=axes, initial=-np.inf)
        merged = type(self)(n, mean, np.asarray((self.m2 + spread).sum(axis=axes)), m3)
        return merged.without_rounding(np.where(n > 0, largest, 0.0))


def whole_numbers(*sums: npt.ArrayLike) -> tuple[AnyArray, ...]:
    """Broadcast sums together, as Python's integers, which do not overflow."""
    return tuple(np.broadcast_arrays(*(np.asarray(values).astype(object) for values in sums)))
