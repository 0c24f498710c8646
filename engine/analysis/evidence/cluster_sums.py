"""Sums of goals by cluster: what comparisons by cluster need of them, and how alike visitors of one are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.evidence.visitor_values import VisitorValues, no_pairs
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments, triple_moment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterSums:
    """Sums of a goal over the visitors of each cluster of one variant, K of them, with a known outcome.

    `n` such visitors, the denominators `x` (the visitors, unless the goal is a ratio), the numerators `y`,
    and `z`, what they had before over the mean of all; None without that. `xx`, `xy` and `yy` are sums of
    products of single visitors, over all clusters.
    """

    n: FloatArray
    x: FloatArray
    y: FloatArray
    z: FloatArray | None
    xx: float
    xy: float
    yy: float

    @property
    def ratio(self) -> float:
        """The value of the metric; 0 without a denominator."""
        return float(self.y.sum() / self.x.sum()) if self.x.sum() else 0.0


def values_of_clusters(arms: Sequence[ClusterSums]) -> VisitorValues:
    """Take the moments of one goal by cluster, of which each goal is a ratio of sums.

    So the error is that of clusters; Deng, Knoblich and Lu (2018), "Applying the delta method in metric
    analytics", KDD, section 3.2.
    """
    x, y, z = [one.x for one in arms], [one.y for one in arms], [one.z for one in arms if one.z is not None]
    nothing = no_pairs((1, len(arms)))
    before, before_orders, triple = nothing, nothing, np.full((1, len(arms)), np.nan)
    if len(z) == len(arms):
        before, before_orders = _pairs(z, y), _pairs(z, x)
        triple = np.array([[triple_moment(*one) for one in zip(z, y, x, strict=True)]])
    return VisitorValues(
        value=Moments.stack([Moments.of(one) for one in y])[None],
        caps=np.full(1, np.nan),
        capped=np.zeros((1, len(arms)), np.int64),
        orders=_pairs(x, y),
        before=before,
        before_orders=before_orders,
        without_before=nothing.x,
        triple=triple,
        nonzero=np.array([[np.count_nonzero(one) for one in y]], np.float64),
        largest_orders=np.array([[one.max(initial=0.0) for one in x]]),
    )


def design_effect_of(arms: Sequence[ClusterSums]) -> tuple[float, float]:
    """Measure how many times the variance is that of visitors alone, and the correlation within clusters.

    Both of deviations from the variant's own ratio, all variants together. The correlation is the one for
    which `planning.sample_size.design_effect` is this effect: at least 0. NaN where they are not known.
    """
    visitors, clusters = (sum(float(total) for total in of) for of in zip(*map(_sizes, arms), strict=True))
    if clusters <= len(arms) or visitors <= len(arms):
        return np.nan, np.nan
    within = sum(one.yy - 2.0 * one.ratio * one.xy + one.ratio**2 * one.xx for one in arms)
    between = sum(float(((one.y - one.ratio * one.x) ** 2).sum()) for one in arms)
    mean_size = visitors / clusters
    expected = within / (visitors - len(arms)) * mean_size
    if expected <= 0:
        return np.nan, np.nan
    effect = between / (clusters - len(arms)) / expected
    # The mean size of the cluster of a visitor: (1 + cv²) times that of a cluster.
    size = sum(float((one.n**2).sum()) for one in arms) / visitors
    return effect, min(max((effect - 1.0) / (size - 1.0), 0.0), 1.0) if size > 1.0 else np.nan


def _sizes(arm: ClusterSums) -> tuple[float, int]:
    return float(arm.n.sum()), len(arm.n)


def _pairs(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> PairedMoments:
    return PairedMoments.stack([PairedMoments.of(x, y) for x, y in zip(first, second, strict=True)])[None]
