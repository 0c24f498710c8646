"""Moments of pairs of values per visitor: count, means and centred sums of products, mergeable."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.moments import THIRD_ROUNDING, Moments, no_third_moment, whole_numbers


def _unknown() -> FloatArray:
    return np.full((), np.nan)


@dataclass(frozen=True, slots=True)
class PairedMoments(ArrayRecord):
    """Count, means, and centred second and third moments of pairs (x, y), elementwise over one shape.

    `m2_x` and `m2_y` are sums of squared deviations, `co` the sum of products of deviations, and `m3_y` the
    sum of cubed deviations of y, 0 where it is not known. `m3_x`, `xxy` and `xyy` are the other sums of
    products of three deviations, all NaN where one of the four is not known. All are 0 in an empty cell.
    Centred sums do not cancel at large means.
    """

    n: FloatArray
    mean_x: FloatArray
    mean_y: FloatArray
    m2_x: FloatArray
    m2_y: FloatArray
    co: FloatArray
    m3_y: FloatArray = field(default_factory=no_third_moment)
    m3_x: FloatArray = field(default_factory=_unknown)
    xxy: FloatArray = field(default_factory=_unknown)
    xyy: FloatArray = field(default_factory=_unknown)

    def __post_init__(self) -> None:
        for name in ("m3_y", "m3_x", "xxy", "xyy"):
            part = getattr(self, name)
            if part.shape == () != self.n.shape:
                object.__setattr__(self, name, np.full(self.n.shape, float(part)))

    @classmethod
    def of(cls, x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> Self:
        """Take the moments of pairs along `axis`, in two passes."""
        first, second = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        if first.shape[axis] == 0:
            of_none = Moments.of(first, axis)
            return cls(of_none.n, *(of_none.mean,) * 9)
        mean_x, mean_y = (np.asarray(values.mean(axis=axis)) for values in (first, second))
        dx, dy = first - np.expand_dims(mean_x, axis), second - np.expand_dims(mean_y, axis)
        xx, xy, yy = dx * dx, dx * dy, dy * dy
        m2_x, m2_y, co, m3_y, m3_x, xxy, xyy = (
            np.asarray(products.sum(axis=axis))
            for products in (xx, yy, xy, yy * dy, xx * dx, xx * dy, xy * dy)
        )
        n = np.full(mean_x.shape, float(first.shape[axis]))
        found = cls(n, mean_x, mean_y, m2_x, m2_y, co, m3_y, m3_x, xxy, xyy)
        return found.without_rounding(*(np.asarray(values.take(0, axis=axis)) for values in (first, second)))

    @classmethod
    def of_sums(  # noqa: PLR0913  # every sum of a pair
        cls,
        n: npt.ArrayLike,
        *,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        xx: npt.ArrayLike,
        yy: npt.ArrayLike,
        xy: npt.ArrayLike,
        yyy: npt.ArrayLike | None = None,
        others: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Self:
        """Take the moments of `n` pairs of whole numbers from sums of values, squares and products; exact.

        The sums are as in `Moments.of_sums`; `yyy` are the cubes of y, and `others` the sums of x³, x²y and
        xy². Those that contradict the squares, as clamped ones do, count as not known.
        """
        of_x, of_y = Moments.of_sums(n, x, xx), Moments.of_sums(n, y, yy, yyy)
        counts, sum_x, sum_y, products = whole_numbers(n, x, y, xy)
        co = (counts * products - sum_x * sum_y) / np.maximum(counts, 1)
        found = cls(of_x.n, of_x.mean, of_y.mean, of_x.m2, of_y.m2, np.asarray(co, np.float64), of_y.m3)
        if yyy is None or others is None:
            return found
        xxx, xxy, xyy = others
        m3_x = third_of_sums(n, (x, x, x), (xx, xx, xx), xxx)
        m_xxy = third_of_sums(n, (x, x, y), (xy, xy, xx), xxy)
        m_xyy = third_of_sums(n, (x, y, y), (yy, xy, xy), xyy)
        m3_y = third_of_sums(n, (y, y, y), (yy, yy, yy), yyy)
        # Hölder's inequality, with the sum of fourth powers below the square of that of squares.
        scale_x, scale_y = np.sqrt(of_x.m2), np.sqrt(of_y.m2)
        bounds = scale_x**3, of_x.m2 * scale_y, scale_x * of_y.m2, scale_y**3
        possible = np.ones(of_x.n.shape, bool)
        for third, most in zip((m3_x, m_xxy, m_xyy, m3_y), bounds, strict=True):
            possible &= np.abs(third) <= most * (1.0 + THIRD_ROUNDING)
        m3_x, m_xxy, m_xyy = (np.where(possible, third, np.nan) for third in (m3_x, m_xxy, m_xyy))
        return replace(found, m3_x=m3_x, xxy=m_xxy, xyy=m_xyy)

    @classmethod
    def of_groups(
        cls, x: npt.ArrayLike, y: npt.ArrayLike, groups: npt.NDArray[np.integer], count: int
    ) -> Self:
        """Take the moments of each of `count` groups; `groups` has the group number of each pair."""
        first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
        of_x, of_y = Moments.of_groups(first, groups, count), Moments.of_groups(second, groups, count)
        dx, dy = first - of_x.mean[groups], second - of_y.mean[groups]
        products = (dx * dy, dx * dx * dy, dx * dy * dy)
        co, xxy, xyy = (np.bincount(groups, each, count).astype(np.float64) for each in products)
        return cls._joined(of_x, of_y, co, (of_x.m3, xxy, xyy))

    @classmethod
    def _joined(
        cls, x: Moments, y: Moments, co: FloatArray, thirds: tuple[FloatArray, FloatArray, FloatArray]
    ) -> Self:
        """Join the moments of two values; those of a value that does not vary are 0."""
        m3_x, xxy, xyy = thirds
        vary = (x.m2 > 0) & (y.m2 > 0)
        return cls(
            *(x.n, x.mean, y.mean, x.m2, y.m2, np.where(vary, co, 0.0), y.m3),
            *(
                np.where(there, third, 0.0 * third)
                for there, third in ((x.m2 > 0, m3_x), (vary, xxy), (vary, xyy))
            ),
        )

    def without_rounding(self, x: FloatArray, y: FloatArray) -> Self:
        """Make values of a cell that differ by rounding only one value, of `x` or `y`, without variance."""
        thirds = self.m3_x, self.xxy, self.xyy
        return self._joined(self.x.without_rounding(x), self.y.without_rounding(y), self.co, thirds)

    @property
    def are_thirds_known(self) -> BoolArray:
        """Flag cells of which all products of three deviations are known."""
        return np.isfinite(self.m3_x + self.xxy + self.xyy)

    def divide(self, by: FloatArray | float) -> Self:
        """Take the moments of the pairs with both values divided by a number."""
        return self.divide_each(by, by)

    def divide_each(self, x_by: FloatArray | float, y_by: FloatArray | float) -> Self:
        """Take the moments of the pairs with each value divided by a number of its own."""
        x, y = self.x.divide(x_by), self.y.divide(y_by)
        both = np.multiply(x_by, y_by)
        return type(self)(
            *(self.n, x.mean, y.mean, x.m2, y.m2, self.co / both, y.m3),
            *(self.m3_x / np.power(x_by, 3.0), self.xxy / (both * x_by), self.xyy / (both * y_by)),
        )

    @property
    def x(self) -> Moments:
        """Moments of the first value; a third moment that is not known is 0."""
        return Moments(self.n, self.mean_x, self.m2_x, np.where(np.isnan(self.m3_x), 0.0, self.m3_x))

    @property
    def y(self) -> Moments:
        """Moments of the second value."""
        return Moments(self.n, self.mean_y, self.m2_y, self.m3_y)

    def merge(self, other: Self) -> Self:
        """Merge with the moments of another sample.

        Co-moments merge as second and third moments do: Pébay (2008), "Formulas for robust, one-pass parallel
        computation of covariances and arbitrary-order statistical moments", Sandia report 2008-6212.
        """
        x, y = self.x.merge(other.x), self.y.merge(other.y)
        share = np.divide(other.n, x.n, out=np.zeros_like(x.n), where=x.n > 0)
        apart = (other.mean_x - self.mean_x) * (other.mean_y - self.mean_y)
        co = self.co + other.co + apart * self.n * share
        moved = (part.thirds_about(part.mean_x - x.mean, part.mean_y - y.mean) for part in (self, other))
        thirds = (one + two for one, two in zip(*moved, strict=True))
        return type(self)(x.n, x.mean, y.mean, x.m2, y.m2, co, y.m3, *thirds)

    def sum_over(self, axis: int | Sequence[int]) -> Self:
        """Merge all cells along `axis`."""
        axes = axis if isinstance(axis, int) else tuple(axis)
        x, y = self.x.sum_over(axis), self.y.sum_over(axis)
        dx, dy = self.mean_x - np.expand_dims(x.mean, axes), self.mean_y - np.expand_dims(y.mean, axes)
        co = (self.co + self.n * dx * dy).sum(axis=axes)
        m3_x, xxy, xyy = (np.asarray(part.sum(axis=axes)) for part in self.thirds_about(dx, dy))
        return type(self)(x.n, x.mean, y.mean, x.m2, y.m2, co, y.m3, m3_x, xxy, xyy)

    def thirds_about(self, dx: FloatArray, dy: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the sums of x³, x²y and xy² about points so far below the means."""
        return (
            self.m3_x + 3.0 * dx * self.m2_x + self.n * dx**3,
            self.xxy + 2.0 * dx * self.co + dy * self.m2_x + self.n * dx * dx * dy,
            self.xyy + 2.0 * dy * self.co + dx * self.m2_y + self.n * dx * dy * dy,
        )


def third_of_sums(
    n: npt.ArrayLike, sums: Sequence[npt.ArrayLike], products: Sequence[npt.ArrayLike], third: npt.ArrayLike
) -> FloatArray:
    """Compute the sum of products of the deviations of three values a, b and c, from whole sums; exact.

    `sums` are those of a, b and c, `products` those of b·c, a·c and a·b, and `third` that of a·b·c.
    """
    counts, a, b, c, bc, ac, ab, abc = whole_numbers(n, *sums, *products, third)
    divisor = np.maximum(counts, 1)
    scaled = counts * (counts * abc - a * bc - b * ac - c * ab) + 2 * a * b * c
    return np.asarray(scaled / (divisor * divisor), np.float64)


def triple_moment(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Compute the sum of products of the deviations of three values of the same visitors."""
    if not a.size:
        return 0.0
    return float(((a - a.mean()) * (b - b.mean()) * (c - c.mean())).sum())
