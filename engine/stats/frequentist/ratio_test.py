"""Test of two ratios of sums, such as clicks per view, from the sums of both arms.

The residuals are y - R₀x with the ratio R₀ that both arms have if nothing differs, and not with each arm's
own: a visitor with very many views pulls the own ratio to itself, so that its residual vanishes and the
standard error is too small. T = (R_t - R_c) / sqrt(v_t + v_c) by the delta method with these residuals, freed
of its skewness, which a rare numerator in unequal arms has, by Hall's transformation. Deng, Knoblich and Lu
(2018), "Applying the delta method in metric analytics", KDD; Hall (1992), JRSS B 54.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.delta_method import residual_moments
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import Comparison, compare_means, welch_df
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.roots import falling_root
from engine.stats.skewness import PooledCumulants, remove_skewness

Bounds = tuple[FloatArray, FloatArray]

# Doublings of the first step until a bound counts as infinite.
_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class RatioArms(ArrayRecord):
    """Pairs of denominator x and numerator y of the control's and the variant's visitors, elementwise.

    Any method of means applies to the `moments`; intervals and other hypotheses have residuals of their own.
    Without the sums of products of three values (`PairedMoments.are_thirds_known`) skewness is taken as 0,
    which leaves the plain test of Welch.
    """

    control: PairedMoments
    variant: PairedMoments

    @property
    def defined(self) -> BoolArray:
        """True where both arms have a ratio: a denominator above 0, of two visitors or more."""
        arms = (self.control, self.variant)
        defined: BoolArray = np.logical_and(*((arm.n > 1) & (arm.mean_x > 0) for arm in arms))
        return defined

    @property
    def are_thirds_known(self) -> BoolArray:
        """True where the skewness of both arms is known."""
        known: BoolArray = self.control.are_thirds_known & self.variant.are_thirds_known
        return known

    def moments(self, kept: npt.ArrayLike = 1.0, above: npt.ArrayLike = 0.0) -> tuple[Moments, Moments]:
        """Take the moments of `kept` times the control, and of the variant, where R_t = kept R_c + above.

        Each visitor counts as the arm's ratio plus its residual over the arm's mean of x, with the ratio that
        both arms have under this hypothesis. Empty cells where not `defined`.
        """
        times, more = (np.asarray(given, np.float64) for given in (kept, above))
        x_c, x_t = (arm.n * arm.mean_x for arm in (self.control, self.variant))
        y_c, y_t = (arm.n * arm.mean_y for arm in (self.control, self.variant))
        defined = self.defined
        total = np.where(defined, x_c + x_t, 1.0)
        both = (times * y_c + y_t - more * x_t) / total
        return (
            residual_moments(
                self.control, both, where=defined, is_third_known=self.are_thirds_known, times=times
            ),
            residual_moments(self.variant, both + more, where=defined, is_third_known=self.are_thirds_known),
        )

    def z(self, kept: npt.ArrayLike = 1.0, above: npt.ArrayLike = 0.0) -> FloatArray:
        """Compute the statistic of R_t = kept R_c + above, freed of skewness; NaN where nothing varies."""
        control, variant = self.moments(kept, above)
        change = Estimate.of(variant).minus(Estimate.of(control))
        error = np.sqrt(np.where(change.variance > 0, change.variance, np.nan))
        t = np.asarray((change.value - np.asarray(above, np.float64)) / error)
        return remove_skewness(t, PooledCumulants.of(control, variant).skewness())

    def compare(self, alpha: npt.ArrayLike) -> Comparison:
        """Test R_t = R_c at level `alpha`, one for all or one each, with the interval of the lift.

        The statistic has Welch's degrees of freedom. The interval holds the ratios r of which R_t = r R_c is
        not rejected, less 1: it leaves out 0 exactly where p < alpha. NaN where the control's ratio is not
        above 0, or by too little; infinite above where nothing bounds the ratio.
        """
        control, variant = self.moments()
        skewness = PooledCumulants.of(control, variant).skewness()
        test = compare_means(Estimate.of(control), Estimate.of(variant), alpha, skewness)
        low, high = self.lift_interval(self.critical(alpha))
        return Comparison(statistic=test.statistic, df=test.df, log_p=test.log_p, low=low, high=high)

    def critical(self, alpha: npt.ArrayLike) -> FloatArray:
        """Compute the critical value of a two-sided test at `alpha`; NaN where there is no test."""
        control, variant = (Estimate.of(arm) for arm in self.moments())
        df = welch_df(control, variant)
        return np.where(np.isnan(df), np.nan, scipy.special.stdtrit(df, 1.0 - np.asarray(alpha) / 2.0))

    def lift_interval(self, critical: npt.ArrayLike) -> Bounds:
        """Find the lifts r - 1 of which the statistic of R_t = r R_c lies within ± `critical`.

        As in `compare`. `critical` is positive, one for all or one each; NaN gives NaN.
        """
        size = np.broadcast_to(np.asarray(critical, np.float64), self.control.n.shape)
        control, variant = self.moments()
        known = self.defined & (control.mean > 0) & (_error(control, variant) > 0) & ~np.isnan(size)
        low, high = self._invert(known, size, null=1.0, floor=0.0, at=lambda arms, ratio: arms.z(kept=ratio))
        bounded = np.isfinite(low)
        return np.where(bounded, low - 1.0, np.nan), np.where(bounded, high - 1.0, np.nan)

    def difference_interval(self, critical: npt.ArrayLike) -> Bounds:
        """Find the differences d of which the statistic of R_t = R_c + d lies within ± `critical`.

        In the ratio's unit; NaN where there is no test, or where the denominators vary too much for a bound.
        """
        size = np.broadcast_to(np.asarray(critical, np.float64), self.control.n.shape)
        known = self.defined & (_error(*self.moments()) > 0) & ~np.isnan(size)
        low, high = self._invert(
            known, size, null=0.0, floor=np.nan, at=lambda arms, apart: arms.z(above=apart)
        )
        bounded = np.isfinite(low) & np.isfinite(high)
        return np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)

    def _invert(
        self,
        known: BoolArray,
        critical: FloatArray,
        *,
        null: float,
        floor: float,
        at: Callable[["RatioArms", FloatArray], FloatArray],
    ) -> Bounds:
        """Find both bounds of the parameter of `at`, 1 or 0 of which is `null`, in the `known` cells."""
        low, high = (np.full(known.shape, np.nan) for _ in range(2))
        if known.any():
            arms, size = self[known], critical[known]
            control, variant = arms.moments()
            # A lift's is in shares of the control.
            unit = control.mean if null else np.ones(size.shape)
            centre = variant.mean / unit if null else variant.mean - control.mean
            step = np.maximum(size, 1.0) * _error(control, variant) / unit
            # Both sides at once.
            ends = _bound(
                RatioArms.concatenate([arms, arms]),
                np.tile(size, 2),
                centre=np.tile(centre, 2),
                step=np.concatenate([-step, step]),
                stops=(null, floor),
                at=at,
            )
            low[known], high[known] = np.split(ends, 2)
        return low, high


def _error(control: Moments, variant: Moments) -> FloatArray:
    """Compute the standard error of the difference; NaN where there is none, or where it is 0."""
    variance = Estimate.of(control).variance + Estimate.of(variant).variance
    return np.sqrt(np.where(variance > 0, variance, np.nan))


def _bound(  # noqa: PLR0913  # a function and where it is searched
    arms: RatioArms,
    critical: FloatArray,
    *,
    centre: FloatArray,
    step: FloatArray,
    stops: tuple[float, float],
    at: Callable[[RatioArms, FloatArray], FloatArray],
) -> FloatArray:
    """Find the bound on the side that `step` points to; infinite where nothing bounds the parameter.

    Steps double from the estimate, `centre`, until one is rejected. `stops` are steps too: the tested value,
    so that the bound agrees with the test wherever the statistic does not fall, and one below which it may
    rise again; NaN for none.
    """
    side = np.sign(step)

    def is_within(place: FloatArray) -> BoolArray:
        # NaN is where all residuals vanish, which is no hypothesis to reject.
        return ~(side * at(arms, centre + place * step) < -critical)

    inner, outer = np.zeros(centre.shape), np.full(centre.shape, np.inf)
    for value in stops:
        place = (value - centre) / step
        is_ahead, is_inside = place >= 0, is_within(place)
        inner = np.where(is_ahead & is_inside, np.maximum(inner, place), inner)
        outer = np.where(is_ahead & ~is_inside, np.minimum(outer, place), outer)
    # Extremely skewed arms reject their own estimate on one side.
    for doubling in range(_DOUBLINGS):
        outside = ~is_within(inner)
        if not outside.any():
            break
        inner = np.where(outside, inner - 2.0**doubling, inner)
    is_found = np.isfinite(outer) & (outer > inner)
    outer = np.where(is_found, outer, inner)
    for doubling in range(_DOUBLINGS):
        if is_found.all():
            break
        outer = np.where(is_found, outer, inner + 2.0**doubling)
        is_found |= ~is_within(outer)
        inner = np.where(is_found, inner, outer)
    bound = np.full(centre.shape, np.inf)
    if is_found.any():
        found, first, towards = arms[is_found], centre[is_found], step[is_found]

        def falling(place: FloatArray) -> FloatArray:
            return np.asarray(side[is_found] * at(found, first + place * towards) + critical[is_found])

        bound[is_found] = falling_root(falling, inner[is_found], outer[is_found])
    return np.where(np.isinf(bound), side * np.inf, centre + bound * step)
