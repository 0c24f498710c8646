"""Buckets of values of which a visitor has several: quantiles with errors clustered by visitor."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import FloatArray, IntArray
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_buckets import bucket_of, counted, value_of


@dataclass(frozen=True, slots=True)
class ClusteredBuckets:
    """Sums over one arm's visitors by bucket, in any order of the buckets: (B,) and (4, B).

    A visitor has c values in a bucket, b in the lower ones and o in all others: the sums are those of c, c²,
    b·c and o·c, over `visitors` with a value. They add up over visitors and can be taken back, and the
    variance of the share of values up to any bucket follows from them.
    """

    buckets: IntArray
    sums: IntArray
    visitors: int

    @classmethod
    def of(cls, visitors: npt.ArrayLike, values: npt.ArrayLike) -> Self:
        """Sum up values and the visitors that they are of, a row each."""
        buckets = np.unique(bucket_of(values))
        buckets = buckets[np.argsort(value_of(buckets), kind="stable")]
        number = np.unique(np.asarray(visitors), return_inverse=True)[1]
        cells, c = np.unique(number * len(buckets) + _places(buckets, bucket_of(values)), return_counts=True)
        who, places = np.divmod(cells, max(len(buckets), 1))
        total = np.bincount(number).astype(np.int64)
        lower = np.cumsum(c) - c - (np.cumsum(total) - total)[who]
        sums = np.zeros((4, len(buckets)), np.int64)
        for row, each in zip(sums, (c, c * c, lower * c, (total[who] - c) * c), strict=True):
            np.add.at(row, places, each)
        return cls(buckets, sums, len(total))

    @classmethod
    def of_counts(cls, values: FloatArray, counts: IntArray) -> Self:
        """Sum up values of which each is of as many visitors as `counts` says, who have no other."""
        buckets, place = np.unique(bucket_of(values), return_inverse=True)
        order = np.argsort(value_of(buckets), kind="stable")
        sums = np.zeros((4, len(buckets)), np.int64)
        np.add.at(sums[0], place, counts)
        sums[1] = sums[0]
        return cls(buckets[order], sums[:, order], int(sums[0].sum()))

    def without(self, other: Self) -> Self:
        """Take back the sums of some of the visitors."""
        left = self.sums.copy()
        left[:, _places(self.buckets, other.buckets)] -= other.sums
        kept = left[0] > 0
        return type(self)(self.buckets[kept], left[:, kept], self.visitors - other.visitors)

    @property
    def most_of_one(self) -> float:
        """The largest share of the values that one visitor can have: sqrt(sum x²) / sum x; 0 of none."""
        c, cc, _, oc = self.sums.sum(axis=1, dtype=np.float64)
        return float(np.sqrt(cc + oc) / max(c, 1.0))

    def value_counts(self, design_effect: float) -> ValueCounts:
        """List the values that buckets stand for, with their counts."""
        return replace(counted(self.buckets, self.sums[0]), design_effect=design_effect)


def design_effects(arms: Sequence[ClusteredBuckets], share: float) -> list[float]:
    """Compute how many times as many values of each arm have the error of independent ones.

    At the quantile at `share` of all arms together: the delta method's variance of the share of values below
    it, with visitors as the unit, over that of independent values. Deng, Knoblich and Lu (2018), KDD, for
    quantiles of events; the residuals are those from the share of all arms, so that a visitor with many
    values does not pull it. At least 1, as where each visitor has one value.
    """
    together = np.unique(np.concatenate([arm.buckets for arm in arms]))
    together = together[np.argsort(value_of(together), kind="stable")]
    if not len(together) or all(arm.sums[0].sum() == arm.visitors for arm in arms):
        return [1.0] * len(arms)
    aligned = np.zeros((len(arms), 4, len(together)))
    for sums, arm in zip(aligned, arms, strict=True):
        sums[:, _places(together, arm.buckets)] = arm.sums
    pooled = np.cumsum(aligned[:, 0].sum(axis=0))
    wanted = share * pooled[-1]
    # Rounding of the share must not move the quantile past a value that holds exactly this share.
    place = min(int(np.searchsorted(pooled, wanted * (1.0 - 1e-12))), len(together) - 1)
    below = pooled[place - 1] if place else 0.0
    part = float((wanted - below) / (pooled[place] - below))
    return [
        _design_effect(sums, arm.visitors, place, part, share)
        for arm, sums in zip(arms, aligned, strict=True)
    ]


def _places(among: IntArray, buckets: IntArray) -> IntArray:
    """Find the places of buckets among others, which may be in any order."""
    order = np.argsort(among, kind="stable")
    return np.asarray(order[np.searchsorted(among[order], buckets)])


def _design_effect(sums: FloatArray, visitors: int, place: int, part: float, share: float) -> float:
    """Divide the variance of the share of values below, of which `part` of one bucket are, by visitor."""
    c, cc, bc, oc = sums
    n, below, at = c.sum(), c[:place].sum(), c[place]
    if visitors < 2 or n == visitors:
        return 1.0
    mean = (below + part * at) / n
    independent = ((below + part**2 * at) / n - mean**2) / (n - 1.0)
    if independent <= 0:
        return 1.0
    # Squares of a visitor's values below, their products with all of its values, and squares of all.
    yy = (2.0 * bc + cc)[:place].sum() + 2.0 * part * bc[place] + part**2 * cc[place]
    yx = (oc + cc)[:place].sum() + part * (oc + cc)[place]
    squares = yy - 2.0 * share * yx + share**2 * (oc + cc).sum()
    m2 = squares - n**2 * (mean - share) ** 2 / visitors
    return float(max(m2 * visitors / (visitors - 1.0) / n**2 / independent, 1.0))
