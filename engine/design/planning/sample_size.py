"""Sample size, power and detectable lift of a test, and its duration.

Visitors are of the control; the variant has `ratio` times as many. Effects are relative lifts, as shares
(0.05 is five percent more). Functions take arrays and return NaN where no number of visitors is enough.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import scipy

from engine.design.planning.stopping import Stopping
from engine.stats.arrays import FloatArray
from engine.stats.roots import bisect, secant_root

# Power is 1 to the last digit from here on.
_LARGEST_DRIFT = 35.0


class Metric(Protocol):
    """A metric per visitor: its mean and variance; `pools_variance` where its test pools the two arms."""

    pools_variance: ClassVar[bool]

    def mean(self) -> FloatArray:
        """Return the control's mean."""
        ...

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return the variance per visitor in a variant with this mean; NaN for an impossible mean."""
        ...

    def highest_lift(self) -> FloatArray:
        """Return the largest possible lift."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A conversion rate, as a share; `correlation` is that with the CUPED covariate.

    `design_effect` is that of clusters.
    """

    pools_variance: ClassVar[bool] = True

    rate: npt.ArrayLike
    correlation: npt.ArrayLike = 0.0
    design_effect: float = 1.0

    def mean(self) -> FloatArray:
        """Return the rate."""
        return np.asarray(self.rate, np.float64)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return rate · (1 - rate) · (1 - correlation²) · design_effect."""
        spread = np.where((mean >= 0) & (mean <= 1), mean * (1.0 - mean), np.nan)
        return spread * _left(self.correlation) * self.design_effect

    def highest_lift(self) -> FloatArray:
        """Return 1 / rate - 1, at which every visitor converts."""
        rate = self.mean()
        return np.divide(1.0, rate, out=np.ones_like(rate), where=rate > 0) - 1.0


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean per visitor, such as revenue, with its standard deviation; both are those of the control.

    The variance grows with the mean: by the square of (1 + lift) where orders grow in value, by (1 + lift)
    where their number grows. The larger of the two is planned with, so that neither has too little power.
    `design_effect` is that of clusters.
    """

    pools_variance: ClassVar[bool] = False

    value: npt.ArrayLike
    deviation: npt.ArrayLike
    correlation: npt.ArrayLike = 0.0
    design_effect: float = 1.0

    def mean(self) -> FloatArray:
        """Return the mean."""
        return np.asarray(self.value, np.float64)

    def variance(self, mean: FloatArray) -> FloatArray:
        """Return deviation² · (1 - correlation²) · design_effect · max(g, g²), g being the mean's growth."""
        square = np.square(np.asarray(self.deviation, np.float64))
        left = square * _left(self.correlation) * self.design_effect
        control, mean = np.broadcast_arrays(self.mean(), mean)
        growth = np.divide(mean, control, out=np.ones(mean.shape), where=control > 0)
        return np.asarray(left * np.maximum(growth, np.square(growth)))

    def highest_lift(self) -> FloatArray:
        """Return 10⁶, the end of searches: a mean has no largest lift."""
        return np.full(self.mean().shape, 1e6)


def design_effect(cluster_size: float, correlation: float, variation: float = 0.0) -> float:
    """Compute how many times the variance of a mean is where clusters are assigned, and not visitors.

    1 + ((1 + cv²) m - 1) · `correlation`, that within clusters: m is the mean cluster size, and cv the
    standard deviation of sizes over it. Eldridge, Ashby and Kerry (2006), International Journal of
    Epidemiology 35.
    """
    return 1.0 + ((1.0 + variation**2) * cluster_size - 1.0) * correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A test plan: `alpha` over all `comparisons` with the control, two-sided or one-sided, and `power`.

    With a `margin`, a share of the control's mean, the test is of non-inferiority: the variant is less than
    `margin` worse. It uses the same interval, so it is one-sided at alpha/2; at alpha where `is_one_sided`.
    """

    alpha: float = 0.05
    power: float = 0.8
    comparisons: int = 1
    ratio: float = 1.0
    stopping: Stopping = field(default_factory=Stopping)
    margin: float | None = None
    is_one_sided: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for values out of bounds."""
        if not 0 < self.alpha < 1 or not 0 < self.power < 1:
            raise ValueError(f"alpha and power are shares between 0 and 1; got {self.alpha} and {self.power}")
        if self.power <= self.alpha:
            raise ValueError(
                f"power {self.power} must be above alpha {self.alpha}; power would not exceed chance"
            )
        if self.comparisons < 1 or not self.ratio > 0:
            raise ValueError("comparisons are 1 or more and the ratio of variant to control is above 0")
        if self.margin is not None and not 0 <= self.margin < 1:
            raise ValueError(f"margin is a share from 0 up to but not including 1; got {self.margin}")

        if self.is_one_sided and self.alpha_each >= 0.5:
            raise ValueError(f"alpha {self.alpha} must be below 0.5 one-sided; half of all tests reach 0.5")

    @property
    def alpha_each(self) -> float:
        """Significance level of one comparison (Bonferroni)."""
        return self.alpha / self.comparisons

    @property
    def two_sided_alpha_each(self) -> float:
        """Level of the two-sided test with the same critical value: doubled for a one-sided test."""
        return self.alpha_each * (2.0 if self.is_one_sided else 1.0)

    @property
    def critical(self) -> float:
        """Critical |z| of a single look."""
        return float(-scipy.special.ndtri(self.two_sided_alpha_each / 2.0))


def visitors_needed(metric: Metric, lift: npt.ArrayLike, plan: Plan) -> FloatArray:
    """Return the control's visitors, rounded up, that detect a true `lift` with the planned power.

    n = ((z sqrt(V0) + (drift - z) sqrt(V1)) / effect)²: V1 is the variance of the difference per control
    visitor if the lift is true, V0 that which the test takes if nothing differs (shares pool it, as the
    score test does; means do not, as Welch's), and drift the average statistic that gives the power,
    z_{alpha/2} + z_beta for a single look. Fleiss, Levin and Paik (2003), "Statistical Methods for Rates and
    Proportions", section 4.2; Jennison and Turnbull (2000), "Group Sequential Methods", section 2.2, for the
    drift where there are more looks.
    """
    # A tolerance of 1e-12, or rounding errors would round whole numbers up.
    return np.ceil(_visitors_by_lift(metric, plan)(np.asarray(lift, np.float64)) * (1.0 - 1e-12))


def power_with(metric: Metric, lift: npt.ArrayLike, visitors: npt.ArrayLike, plan: Plan) -> FloatArray:
    """Return the power to detect a true `lift` with this many visitors in the control."""
    counted = np.asarray(visitors, np.float64)
    effect, null, true = _effect_by_lift(metric, plan)(np.asarray(lift, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        drift = plan.critical + (effect * np.sqrt(counted) - plan.critical * null) / true
    known = np.isfinite(drift) & (counted > 0)
    within = np.clip(np.where(known, drift, 0.0), 0.0, _LARGEST_DRIFT)
    return np.where(known, plan.stopping.power(within, plan.two_sided_alpha_each), np.nan)


def detectable_lift(metric: Metric, visitors: npt.ArrayLike, plan: Plan) -> FloatArray:
    """Return the smallest lift that this many visitors in the control detect with the planned power.

    With a margin, the smallest lift that is shown to be non-inferior; it may be below 0.
    """
    counted, mean, highest = np.broadcast_arrays(
        np.asarray(visitors, np.float64), metric.mean(), metric.highest_lift()
    )
    lowest = np.full(mean.shape, 0.0 if plan.margin is None else -plan.margin)
    possible = (counted > 0) & (mean > 0)
    root, effect_of = np.sqrt(counted), _effect_by_lift(metric, plan)
    critical, beyond = plan.critical, _beyond_critical(plan)

    def surplus(lift: FloatArray) -> FloatArray:
        effect, null, true = effect_of(lift)
        above: FloatArray = effect * root - critical * null - beyond * true
        return above

    # All but straight: the standard deviations hardly change with the lift.
    lift = secant_root(surplus, lowest, highest, np.where(possible, mean * root, np.nan))
    if (possible & np.isnan(lift)).any():
        # Only near the highest lift, where a variance ends at 0 and beyond it there is none.
        halved = bisect(lambda at: np.nan_to_num(-surplus(at), nan=np.inf), lowest, highest)
        lift = np.where(np.isnan(lift), halved, lift)
    return np.where((lift < highest) & possible, lift, np.nan)


def days_to_go(needed: float, collected: float, per_day: float) -> int | None:
    """Return the days until `needed` visitors are collected at `per_day`; None without any pace.

    All three count the same group: the control, or all variants.
    """
    missing = needed - collected
    if missing <= 0:
        return 0
    if not per_day > 0 or not math.isfinite(missing):
        return None
    return math.ceil(missing / per_day)


def in_whole_weeks(days: int) -> int:
    """Round days up to whole weeks, so that every day of the week counts alike."""
    return 7 * math.ceil(days / 7)


def _visitors_by_lift(metric: Metric, plan: Plan) -> Callable[[FloatArray], FloatArray]:
    """Return the control's visitors, unrounded, as a function of the lift; NaN where no number is enough."""
    effect_of = _effect_by_lift(metric, plan)
    critical = plan.critical
    beyond = _beyond_critical(plan)

    def visitors(lift: FloatArray) -> FloatArray:
        effect, null, true = effect_of(lift)
        with np.errstate(divide="ignore", invalid="ignore"):
            n = np.square((critical * null + beyond * true) / effect)
        return np.where((effect > 0) & np.isfinite(n), n, np.nan)

    return visitors


def _beyond_critical(plan: Plan) -> float:
    """Return how far beyond the critical value the average statistic must lie for the power."""
    return plan.stopping.drift(plan.power, plan.two_sided_alpha_each) - plan.critical


def _effect_by_lift(
    metric: Metric, plan: Plan
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]:
    """Return, as a function of the lift, the effect and its two standard deviations per control visitor.

    The first is the one of the test if nothing differs, the second holds if the lift is true.
    """
    control = metric.mean()
    control_variance = metric.variance(control)

    def effect(lift: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        variant = control * (1.0 + lift)
        variant_variance = metric.variance(variant) / plan.ratio
        if plan.margin is not None:
            kept = 1.0 - plan.margin
            true = np.sqrt(control_variance * kept**2 + variant_variance)
            return variant - kept * control, true, true
        true = np.sqrt(control_variance + variant_variance)
        if not metric.pools_variance:
            return np.abs(variant - control), true, true
        pooled: FloatArray = metric.variance((control + plan.ratio * variant) / (1.0 + plan.ratio))
        return np.abs(variant - control), np.sqrt(pooled * (1.0 + 1.0 / plan.ratio)), true

    return effect


def _left(correlation: npt.ArrayLike) -> FloatArray:
    """Return the share of the variance that CUPED leaves: 1 - correlation² (Deng et al., 2013)."""
    return np.asarray(1.0 - np.square(correlation))
