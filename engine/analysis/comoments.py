"""How two values of a visitor go together: all that adjusting one by the other needs, mergeable exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from engine.analysis.moments import Moments

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairedMoments:
    """Count, means, centred second moments and co-moment of pairs (x, y), elementwise over one shape.

    `m2_x` and `m2_y` are sums of squared deviations, `co` the sum of products of deviations; all are 0 in
    an empty cell. Centred, so that large means cancel nothing.
    """

    n: FloatArray
    mean_x: FloatArray
    mean_y: FloatArray
    m2_x: FloatArray
    m2_y: FloatArray
    co: FloatArray

    @classmethod
    def of(cls, x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> Self:
        """Take the moments of pairs along `axis`, in two passes."""
        first, second = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        if first.shape[axis] == 0:
            of_none = Moments.of(first, axis)
            return cls(of_none.n, *(of_none.mean,) * 5)
        mean_x, mean_y = (np.asarray(values.mean(axis=axis)) for values in (first, second))
        x_apart, y_apart = first - np.expand_dims(mean_x, axis), second - np.expand_dims(mean_y, axis)
        m2_x, m2_y, co = (
            np.asarray((one * other).sum(axis=axis))
            for one, other in ((x_apart, x_apart), (y_apart, y_apart), (x_apart, y_apart))
        )
        return cls(np.full(mean_x.shape, float(first.shape[axis])), mean_x, mean_y, m2_x, m2_y, co)

    @classmethod
    def of_groups(
        cls, x: npt.ArrayLike, y: npt.ArrayLike, groups: npt.NDArray[np.integer], count: int
    ) -> Self:
        """Moments of the pairs of each of `count` groups, `groups` giving the number of each pair's."""
        first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
        of_x, of_y = Moments.of_groups(first, groups, count), Moments.of_groups(second, groups, count)
        products = (first - of_x.mean[groups]) * (second - of_y.mean[groups])
        co = np.bincount(groups, products, count).astype(np.float64)
        return cls(of_x.n, of_x.mean, of_y.mean, of_x.m2, of_y.m2, co)

    @classmethod
    def below_each_other(cls, parts: Sequence[Self]) -> Self:
        """Put moments below each other, along the first axis."""
        names = ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __getitem__(self, key: Any) -> Self:  # noqa: ANN401  # whatever indexes an array
        """The moments of the cells that `key` picks, as it would from an array."""
        return type(self)(
            *(
                np.asarray(values[key])
                for values in (self.n, self.mean_x, self.mean_y, self.m2_x, self.m2_y, self.co)
            )
        )

    @property
    def x(self) -> Moments:
        """The first value alone."""
        return Moments(self.n, self.mean_x, self.m2_x)

    @property
    def y(self) -> Moments:
        """The second value alone."""
        return Moments(self.n, self.mean_y, self.m2_y)

    def merge(self, other: Self) -> Self:
        """Moments of both samples together.

        Co-moments merge as second moments do: Pébay (2008), "Formulas for robust, one-pass parallel
        computation of covariances and arbitrary-order statistical moments", Sandia report 2008-6212.
        """
        x, y = self.x.merge(other.x), self.y.merge(other.y)
        share = np.divide(other.n, x.n, out=np.zeros_like(x.n), where=x.n > 0)
        apart = (other.mean_x - self.mean_x) * (other.mean_y - self.mean_y)
        return type(self)(x.n, x.mean, y.mean, x.m2, y.m2, self.co + other.co + apart * self.n * share)

    def sum_over(self, axis: int | Sequence[int]) -> Self:
        """Merge all cells along `axis`: the same as merging them one after another."""
        axes = axis if isinstance(axis, int) else tuple(axis)
        x, y = self.x.sum_over(axis), self.y.sum_over(axis)
        apart = (self.mean_x - np.expand_dims(x.mean, axes)) * (self.mean_y - np.expand_dims(y.mean, axes))
        return type(self)(x.n, x.mean, y.mean, x.m2, y.m2, (self.co + self.n * apart).sum(axis=axes))
