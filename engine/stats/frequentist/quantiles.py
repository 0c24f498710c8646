"""Quantiles of visitors' values: the score test of two arms, and intervals from order statistics."""

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.log_p_values import log_p_normal

# The standard error comes from an interval of this level, where it is least noisy.
_Z: Final = NormalDist().inv_cdf(0.975)
# Visitors beyond the quantile, in the smaller arm, below which the normal approximation fails.
FEWEST_BEYOND: Final = 10
# The z at which an interval reaches 0 is found by so many rounds, each within one part of the last: to 1e-7.
_ROUNDS: Final = 4
_PARTS: Final = 128
_LARGEST_Z: Final = 40.0


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Values of one arm's visitors, in rising order, and how many visitors have each: (P,) and (P,).

    `rounding` is the standard error of each value that stands for others near it; 0 of exact ones.
    Values may be of the visitors' events instead, several of a visitor: errors of shares of them are then
    those of a number of independent values that is smaller by the `design_effect` (Kish 1965).
    """

    values: FloatArray
    counts: FloatArray
    rounding: FloatArray = field(default_factory=lambda: np.zeros(()))
    design_effect: float = 1.0
    # Summed once: an interval asks for quantiles some twenty times.
    _cumulated: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add the counts up."""
        object.__setattr__(self, "_cumulated", np.cumsum(self.counts))

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Count equal values, one a visitor."""
        distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
        return cls(distinct, counts.astype(np.float64))

    @property
    def n(self) -> float:
        """Number of values."""
        return float(self._cumulated[-1]) if len(self._cumulated) else 0.0

    @property
    def independent(self) -> float:
        """Number of independent values with the same error."""
        return self.n / self.design_effect

    def times(self, factor: float) -> Self:
        """Multiply every value by a factor of 0 or more."""
        return replace(self, values=self.values * factor, rounding=self.rounding * factor)

    def plus(self, amount: float) -> Self:
        """Add an amount to every value."""
        return replace(self, values=self.values + amount)

    def rounding_at(self, values: FloatArray) -> FloatArray:
        """Return the rounding of quantiles, by the first value that is not below each."""
        if not self.rounding.any():
            return np.zeros(values.shape)
        place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return np.asarray(self.rounding[place])

    def quantiles(self, shares: npt.ArrayLike) -> FloatArray:
        """Return the quantiles at `shares`; NaN at shares beyond the first or the last visitor.

        Hyndman and Fan (1996), American Statistician 50, definition 8, nearly median-unbiased for any
        distribution.
        """
        n = self.n
        place = (n + 1.0 / 3.0) * np.asarray(shares, np.float64) + 1.0 / 3.0
        known = (place >= 1.0) & (place <= n)
        if not known.any():
            return np.full(place.shape, np.nan)
        rank = np.floor(np.minimum(np.maximum(place, 1.0), n))
        at = self._cumulated.searchsorted(rank), self._cumulated.searchsorted(np.minimum(rank + 1.0, n))
        low, high = self.values[at[0]], self.values[at[1]]
        return np.asarray(np.where(known, low + (place - rank) * (high - low), np.nan))


def has_enough_beyond(n: npt.ArrayLike, shares: npt.ArrayLike) -> BoolArray:
    """Tell whether FEWEST_BEYOND of `n` visitors are expected beyond the quantile, on either side of it."""
    at = np.asarray(shares, np.float64)
    # Rounding of 1 - 0.99 must not decide.
    return np.asarray(np.asarray(n, np.float64) * np.minimum(at, 1.0 - at) >= FEWEST_BEYOND * (1.0 - 1e-9))


def estimate_quantiles(arm: ValueCounts, shares: npt.ArrayLike) -> Estimate:
    """Estimate the quantiles of one arm at `shares` (0.5 is the median), with their variances.

    Standard error: the wider side of Woodruff's interval (1952, JASA 47) over its z, where the interval runs
    between the quantiles at q ± z sqrt(q (1 - q) / n); it needs no density. Not defined where that leaves 0
    to 1: too few visitors for so extreme a quantile. The variance is 0 among equal values.
    Raises ValueError for shares that are not between 0 and 1.
    """
    q = np.asarray(shares, np.float64)
    if ((q <= 0) | (q >= 1)).any():
        raise ValueError(f"shares of quantiles lie between 0 and 1; got {q.tolist()}")
    limits = _Limits.of(arm, q)
    value = limits.value
    width = np.maximum(value - limits.low(_Z), limits.high(_Z) - value)
    defined = np.isfinite(width)
    variance = np.where(defined, (width / _Z) ** 2, np.nan)
    return Estimate(np.where(defined, value, np.nan), variance, np.full(q.shape, arm.n))


@dataclass(frozen=True, slots=True)
class QuantileComparison(ArrayRecord):
    """A variant's quantiles against the control's, elementwise over shares; NaN where there is no number.

    `z` is positive where the variant is higher: the smaller of the score statistic and of the z at which the
    interval reaches 0, and 0 where these contradict each other; `log_p` is its two-sided log p. The
    difference lies between `low` and `high`, and the relative lift between `lift_low` and `lift_high`, which
    exclude 0 exactly where p < alpha.
    """

    z: FloatArray
    log_p: FloatArray
    low: FloatArray
    high: FloatArray
    lift_low: FloatArray
    lift_high: FloatArray


def compare_quantiles(
    control: ValueCounts, variant: ValueCounts, shares: npt.ArrayLike, alpha: npt.ArrayLike
) -> QuantileComparison:
    """Compare the quantiles of two arms at `shares`; `alpha` is one for all or one each.

    Among equal values, as of counts and whole seconds, a quantile is no smooth function of the data: the
    score test is exact about the split at the pooled quantile and rejects where other parts of the
    distributions differ there, too; so a difference is found only where the interval of the quantiles agrees.
    """
    at = np.asarray(shares, np.float64)
    level = np.broadcast_to(np.asarray(alpha, np.float64), at.shape)
    difference = _Difference.of(control, variant, at)
    score, reach = score_z(control, variant, at), difference.z()
    agrees = np.sign(score) == np.sign(reach)
    z = np.where(agrees, np.sign(reach) * np.minimum(np.abs(score), np.abs(reach)), 0.0)
    z = np.where(np.isnan(score) | np.isnan(reach), np.nan, z)
    critical = -scipy.special.ndtri(level / 2.0)
    is_found = np.abs(z) > critical
    bounds = [*difference.interval(critical), *difference.lift_interval(critical)]
    low, high, lift_low, lift_high = (
        # An interval that excludes 0 where the test finds nothing is widened up to it.
        np.where(is_found, bound, np.minimum(bound, 0.0) if is_low else np.maximum(bound, 0.0))
        for bound, is_low in zip(bounds, (True, False, True, False), strict=True)
    )
    return QuantileComparison(z, log_p_normal(z), low, high, lift_low, lift_high)


def quantile_interval(
    arm: ValueCounts, share: npt.ArrayLike, alpha: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Bound the quantiles of one arm by order statistics, at the level `alpha`; NaN with too few visitors."""
    limits, critical = (
        _Limits.of(arm, np.asarray(share, np.float64)),
        -scipy.special.ndtri(np.asarray(alpha) / 2),
    )
    return _finite(limits.low(critical)), _finite(limits.high(critical))


def relative_quantile_z(
    control: ValueCounts, variant: ValueCounts, shares: npt.ArrayLike, ratio: float
) -> FloatArray:
    """Compute the z at which the interval of (variant - ratio · control) reaches 0; NaN where not defined."""
    return _Difference.of(control.times(ratio), variant, np.asarray(shares, np.float64)).z()


def score_z(control: ValueCounts, variant: ValueCounts, shares: npt.ArrayLike) -> FloatArray:
    """Test that both arms have the same share of values below the pooled quantile, elementwise over `shares`.

    With q the pooled τ-quantile, u = [x < q] + a [x = q] where `a` gives u the pooled mean τ, and
    z = (mean u_c - mean u_t) / sqrt((mean u² - τ²) (1/n_c + 1/n_t)), positive where the variant is higher:
    the median test of Mood (1950) for any quantile, with ties split as in a randomized test; n are the
    independent values. NaN without values in either arm, and where all are equal.
    """
    at = np.asarray(shares, np.float64)
    n_c, n_t = control.n, variant.n
    if n_c == 0 or n_t == 0:
        return np.full(at.shape, np.nan)
    values = np.union1d(control.values, variant.values)
    arms = np.zeros((2, len(values)))
    for counts, arm in zip(arms, (control, variant), strict=True):
        np.add.at(counts, np.searchsorted(values, arm.values), arm.counts)
    cumulated = np.cumsum(arms, axis=1)
    pooled, n = cumulated.sum(axis=0), n_c + n_t
    # Rounding of τ·n must not move the quantile past a value that holds exactly this share.
    place = np.minimum(np.searchsorted(pooled, at * n * (1.0 - 1e-12)), len(values) - 1)
    equal = arms[:, place]
    below = cumulated[:, place] - equal
    part = (at * n - below.sum(axis=0)) / equal.sum(axis=0)
    mean_c, mean_t = (below + part * equal) / np.array([n_c, n_t])[(...,) + (None,) * at.ndim]
    square = (below.sum(axis=0) + part**2 * equal.sum(axis=0)) / n
    variance = np.maximum(square - at**2, 0.0) * (1.0 / control.independent + 1.0 / variant.independent)
    testable = variance > 1e-15
    return np.asarray(
        np.where(testable, (mean_c - mean_t) / np.sqrt(np.where(testable, variance, 1.0)), np.nan)
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    """Order-statistic limits of one arm's quantiles: the quantiles at τ ± z sqrt(τ (1 - τ) / n).

    Where values are rounded, the root of the sum of squares of that distance and of z times the rounding.
    """

    arm: ValueCounts
    shares: FloatArray
    value: FloatArray
    rounding: FloatArray

    @classmethod
    def of(cls, arm: ValueCounts, shares: FloatArray) -> Self:
        """Estimate the quantiles."""
        value = arm.quantiles(shares)
        return cls(arm, shares, value, arm.rounding_at(value))

    def low(self, z: npt.ArrayLike) -> FloatArray:
        """Return the lower limits at z above 0; minus infinity where there are too few visitors below."""
        return self.at(-np.asarray(z, np.float64))

    def high(self, z: npt.ArrayLike) -> FloatArray:
        """Return the upper limits at z above 0; infinity where there are too few visitors above."""
        return self.at(np.asarray(z, np.float64))

    def at(self, z: npt.ArrayLike) -> FloatArray:
        """Return the limits at z, the lower ones where it is below 0."""
        steps = np.asarray(z, np.float64)
        error = np.sqrt(self.shares * (1.0 - self.shares) / max(self.arm.independent, 1.0))
        found = self.arm.quantiles(self.shares + steps * error)
        if self.rounding.any():
            apart = np.hypot(found - self.value, steps * self.rounding)
            found = self.value + np.copysign(apart, steps)
        beyond = np.where(np.isnan(steps), np.nan, np.copysign(np.inf, steps))
        return np.where(np.isnan(found), beyond, found)


@dataclass(frozen=True, slots=True)
class _Difference:
    """Difference of two quantiles, with intervals by the method of variance estimates recovery (MOVER).

    Zou and Donner (2008), Statistics in Medicine 27, for differences; Donner and Zou (2012), Statistical
    Methods in Medical Research 21, for ratios.
    """

    control: FloatArray
    variant: FloatArray
    of_control: _Limits
    of_variant: _Limits

    @classmethod
    def of(cls, control: ValueCounts, variant: ValueCounts, shares: FloatArray) -> Self:
        """Estimate the quantiles of both arms."""
        of_control, of_variant = _Limits.of(control, shares), _Limits.of(variant, shares)
        return cls(of_control.value, of_variant.value, of_control, of_variant)

    def interval(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Bound the difference; NaN where an arm has no limit on the side that counts."""
        apart = self.variant - self.control
        bounds = apart - self._lower_width(z), apart + self._upper_width(z)
        return _finite(bounds[0]), _finite(bounds[1])

    def z(self) -> FloatArray:
        """Find the z at which the interval reaches 0, positive where the variant is higher."""
        apart = self.variant - self.control
        side, found, step = np.sign(apart), np.zeros(apart.shape), _LARGEST_Z
        parts = np.arange(_PARTS).reshape(-1, *(1,) * apart.ndim)
        for _ in range(_ROUNDS):
            step /= _PARTS
            at = found + step * parts
            width = np.hypot(
                self.variant - self.of_variant.at(-side * at), self.control - self.of_control.at(side * at)
            )
            # Widths grow with z.
            found += step * np.maximum((width < np.abs(apart)).sum(axis=0) - 1, 0)
        return np.asarray(np.where(np.isnan(apart), np.nan, side * found))

    def lift_interval(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Bound variant / control - 1: the ratios r at which the interval of variant - r · control has 0.

        NaN where the control is not above 0. A bound is infinite where the control's limit is not above 0,
        and where an arm has no limit.
        """
        low, high = self._ratio_bound(z, is_low=True), self._ratio_bound(z, is_low=False)
        known = (self.control > 0) & np.isfinite(self.variant) & ~np.isnan(z)
        return np.where(known, low - 1.0, np.nan), np.where(known, high - 1.0, np.nan)

    def _ratio_bound(self, z: npt.ArrayLike, *, is_low: bool) -> FloatArray:
        """Solve (variant - r · control)² = variant's width² + r² · control's width² on one side."""
        limit = self.of_variant.low(z) if is_low else self.of_variant.high(z)
        # A ratio above 0 falls with the control, and one below 0 rises with it.
        by_high = (limit >= 0) == is_low
        width = np.where(
            by_high, self.of_control.high(z) - self.control, self.control - self.of_control.low(z)
        )
        bound = np.full(self.control.shape, -np.inf if is_low else np.inf)
        known = np.isfinite(limit) & np.isfinite(width) & (self.control > 0)
        c, v, w, end = (np.where(known, part, 1.0) for part in (self.control, self.variant, width, limit))
        a, square = c**2 - w**2, end * (2.0 * v - end)
        sign = -1.0 if is_low else 1.0
        known &= (a > 0) | (sign * end <= 0)
        root = np.sqrt(np.maximum((c * v) ** 2 - a * square, 0.0))
        # Of the two forms of the root, the one that subtracts nothing; it holds for a <= 0, too.
        is_sum = known & (sign * v < 0)
        is_plain = known & ~is_sum & (a > 0)
        bound = np.where(is_plain, (c * v + sign * root) / np.where(is_plain, a, 1.0), bound)
        return np.where(is_sum, square / np.where(is_sum, c * v - sign * root, 1.0), bound)

    def _lower_width(self, z: npt.ArrayLike) -> FloatArray:
        return np.hypot(self.variant - self.of_variant.low(z), self.of_control.high(z) - self.control)

    def _upper_width(self, z: npt.ArrayLike) -> FloatArray:
        return np.hypot(self.of_variant.high(z) - self.variant, self.control - self.of_control.low(z))


def _finite(bound: FloatArray) -> FloatArray:
    return np.where(np.isfinite(bound), bound, np.nan)
