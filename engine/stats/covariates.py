"""Several covariates: their moments by arm, and the one index of them that explains an outcome best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.delta_method import linearize
from engine.stats.moments import Moments, are_constant
from engine.stats.paired_moments import PairedMoments

# Directions with less of the covariates' variance than this share of the largest are repetitions of others.
_NEGLIGIBLE = 1e-10


class Slopes(NamedTuple):
    """Slopes of an outcome on K covariates, (K,), and how many of them are not repetitions of others."""

    theta: FloatArray
    rank: int


@dataclass(frozen=True, slots=True)
class CovariateMoments:
    """Moments of K covariates x and an outcome y of the same visitors, in A arms.

    `n` (A,) visitors, means of x (A, K), centred cross-products of x with each other (A, K, K) and with y
    (A, K), and the moments of y (A,). Sums over visitors, so that parts of the visitors may be merged.
    """

    n: FloatArray
    mean_x: FloatArray
    xx: FloatArray
    xy: FloatArray
    y: Moments

    @classmethod
    def of(cls, x: Sequence[FloatArray], y: Sequence[FloatArray]) -> Self:
        """Take the moments of each arm's covariates, visitors by K, and outcomes; in two passes."""
        n = np.array([len(values) for values in y], np.float64)
        mean_x = np.stack([_means(values) for values in x])
        of_y = Moments.stack([Moments.of(values) for values in y])
        apart = [values - mean for values, mean in zip(x, mean_x, strict=True)]
        xx = np.stack([each.T @ each for each in apart])
        xy = np.stack(
            [each.T @ (values - mean) for each, values, mean in zip(apart, y, of_y.mean, strict=True)]
        )
        return cls.of_sums(n, mean_x, xx, xy, of_y)

    @classmethod
    def of_sums(
        cls, n: FloatArray, mean_x: FloatArray, xx: FloatArray, xy: FloatArray, of_y: Moments
    ) -> Self:
        """Take sums as they were computed; those of covariates that do not vary are 0, not rounding."""
        varies = ~are_constant(n[:, None], mean_x, np.diagonal(xx, axis1=1, axis2=2))
        return cls(
            n,
            mean_x,
            np.where(varies[:, :, None] & varies[:, None, :], xx, 0.0),
            np.where(varies & (of_y.m2 > 0)[:, None], xy, 0.0),
            of_y,
        )

    def merge(self, other: Self) -> Self:
        """Merge with the moments of other visitors of the same arms.

        Pébay (2008), Sandia report 2008-6212, for every pair of a covariate with another and with y.
        """
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        apart, y_apart = other.mean_x - self.mean_x, other.y.mean - self.y.mean
        weight = (self.n * share)[:, None]
        return type(self)(
            n,
            self.mean_x + apart * share[:, None],
            self.xx + other.xx + (apart * weight)[:, :, None] * apart[:, None, :],
            self.xy + other.xy + apart * weight * y_apart[:, None],
            self.y.merge(other.y),
        )

    def pair(self, theta: FloatArray) -> PairedMoments:
        """Pair the index theta · x of each visitor, x, with y: one covariate in place of K."""
        return PairedMoments(
            self.n,
            self.mean_x @ theta,
            self.y.mean,
            np.maximum(np.einsum("i,aij,j->a", theta, self.xx, theta), 0.0),
            self.y.m2,
            self.xy @ theta,
            self.y.m3,
        )


def _means(values: FloatArray) -> FloatArray:
    """Take the mean of each column, in two passes: a sum down a column is rounded at every row."""
    n = max(len(values), 1)
    rough = values.sum(axis=0) / n
    mean: FloatArray = rough + (values - rough).sum(axis=0) / n
    return mean


def pooled_slopes(xx: FloatArray, xy: FloatArray) -> Slopes:
    """Compute the slopes within arms of an outcome on K covariates, the same for all arms.

    theta = (sum of the arms' xx)^-1 (sum of the arms' xy), with `xx` (A, K, K) and `xy` (A, K): the control
    variates of least variance, Glasserman (2003), "Monte Carlo Methods in Financial Engineering", section
    4.1.2, and the slopes of an analysis of covariance. `cuped.adjust` by the index theta · x then equals that
    analysis. Covariates that repeat others, or do not vary, get the slopes of least size among equals, by the
    eigenvectors of their correlations.
    """
    together, with_y = xx.sum(axis=0), xy.sum(axis=0)
    deviation = np.sqrt(np.diag(together))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    values, vectors = np.linalg.eigh(together * scale[:, None] * scale)
    kept = values > _NEGLIGIBLE * max(values.max(initial=0.0), np.finfo(float).tiny)
    directions = vectors[:, kept]
    theta = scale * (directions @ ((directions.T @ (scale * with_y)) / values[kept]))
    return Slopes(theta, int(kept.sum()))


def index_slopes(
    values: CovariateMoments, denominators: CovariateMoments | None = None, ratio: PairedMoments | None = None
) -> Slopes:
    """Compute the slopes of the index theta · x that explains the values best, as `pooled_slopes` does.

    Of a ratio it explains the linearized one: `denominators` has the covariates with its denominators, and
    `ratio` the pairs of a denominator, x, and a numerator, y, by arm.
    """
    if denominators is None or ratio is None:
        return pooled_slopes(values.xx, values.xy)
    linear, unit = linearize(ratio), np.where(ratio.mean_x > 0, ratio.mean_x, 1.0)
    with_ratio = (values.xy - linear.mean[:, None] * denominators.xy) / unit[:, None]
    return pooled_slopes(values.xx, np.where(linear.n[:, None] > 0, with_ratio, 0.0))
