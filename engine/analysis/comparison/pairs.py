"""Pairs of a variant and the control: the one test of their means, with its intervals, of any goal."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist import equivalence, mean_intervals
from engine.stats.frequentist.equivalence import Equivalence
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.frequentist.two_sample import Comparison, compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.skewness import PooledCumulants

Bounds = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Pairs(ArrayRecord):
    """Estimates of the control and of each variant on each goal's metric, goals by variants.

    `cumulants` are those of the two means, pooled over both arms, for tests that allow for skewness. `ratios`
    are the arms of goals that are ratios, whose estimates have residuals by the ratio of both arms; empty for
    other goals, and where weights changed.
    """

    control: Estimate
    variant: Estimate
    cumulants: PooledCumulants
    ratios: RatioArms

    @classmethod
    def of(cls, metric: Moments, ratios: PairedMoments, control: int) -> Self:
        """Pair arms along the last axis with the control's; `ratios` are empty where the metric is none."""
        shape = metric.n.shape
        arms = RatioArms(ratios[..., [control]].broadcast_to(shape), ratios)
        of_control, of_variant = metric[..., [control]].broadcast_to(shape), metric
        if arms.defined.any():
            of_control, of_variant = (
                Moments.where(arms.defined, by_both, by_own)
                for by_both, by_own in zip(arms.moments(), (of_control, of_variant), strict=True)
            )
        cumulants = PooledCumulants.of(of_control, of_variant)
        return cls(Estimate.of(of_control), Estimate.of(of_variant), cumulants, arms)

    @property
    def is_ratio(self) -> BoolArray:
        """True where the arms of a ratio are compared."""
        return self.ratios.defined

    def compare(self, alpha: npt.ArrayLike) -> Comparison:
        """Test each mean against the control's at level `alpha`, one for all or one each."""
        test = compare_means(self.control, self.variant, alpha, self.cumulants.skewness())
        if not (rows := self.is_ratio).any():
            return test
        each = np.broadcast_to(np.asarray(alpha, np.float64), rows.shape)
        ratios = self.ratios[rows]
        low, high = test.low.copy(), test.high.copy()
        low[rows], high[rows] = ratios.lift_interval(ratios.critical(each[rows]))
        return Comparison(statistic=test.statistic, df=test.df, log_p=test.log_p, low=low, high=high)

    def log_p(self) -> FloatArray:
        """Compute the two-sided log p of `compare`, without its intervals."""
        # Any level: the p does not depend on it.
        return compare_means(self.control, self.variant, 0.05, self.cumulants.skewness()).log_p

    def difference_interval(self, alpha: npt.ArrayLike) -> Bounds:
        """Compute the interval of the difference of which 0 is left out where `compare` is significant."""
        skewness = self.cumulants.skewness()
        low, high = mean_intervals.mean_difference_interval(self.control, self.variant, alpha, skewness)
        if (rows := self.is_ratio).any():
            each = np.broadcast_to(np.asarray(alpha, np.float64), rows.shape)
            ratios = self.ratios[rows]
            low[rows], high[rows] = ratios.difference_interval(ratios.critical(each[rows]))
        return low, high

    def relative_z(self, ratio: npt.ArrayLike, added: npt.ArrayLike = 0.0) -> FloatArray:
        """Compute the z of the variant's mean being `ratio` times the control's, and `added` to that.

        NaN where not defined (`equivalence.relative_z`).
        """
        z = equivalence.relative_z(
            self.control, self.variant, ratio=ratio, added=added, cumulants=self.cumulants
        )
        if (rows := self.is_ratio & ~np.isnan(z)).any():
            kept, above = (
                np.broadcast_to(np.asarray(given, np.float64), rows.shape) for given in (ratio, added)
            )
            z[rows] = self.ratios[rows].z(kept=kept[rows], above=above[rows])
        return z

    def equivalence(self, margin: npt.ArrayLike) -> Equivalence:
        """Test that each lift lies between -margin and +margin, a share of the control's mean."""
        share = np.asarray(margin, np.float64)
        return Equivalence(above=self.relative_z(1.0 - share), below=-self.relative_z(1.0 + share))

    def remaining_lifts(self, critical: npt.ArrayLike) -> Bounds:
        """Find the lowest and the highest lift that the one-sided tests at `critical` do not rule out."""
        rows = self.is_ratio
        size = np.broadcast_to(np.asarray(critical, np.float64), rows.shape)
        low, high = (np.full(rows.shape, np.nan) for _ in range(2))
        if (others := ~rows).any():
            low[others], high[others] = equivalence.remaining_lifts(
                *(self.control[others], self.variant[others]),
                critical=size[others],
                cumulants=self.cumulants[others],
            )
        if rows.any():
            bounds = self.ratios[rows].lift_interval(size[rows])
            low[rows], high[rows] = (np.where(np.isfinite(bound), bound, np.nan) for bound in bounds)
        return low, high
