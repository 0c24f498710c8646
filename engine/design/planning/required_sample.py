"""Required sample of a running experiment: visitors, blinded, from all variants together.

Arrays broadcast together. Effects are relative lifts, as shares; visitors are those with a known outcome, of
all variants together.
The mean and the variance are those of the metric over all visitors, whatever their variant, so that planning
again at each look tells nothing about the difference and adds no false positives.
"""

from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy

from engine.design.planning.plan_days import FIRST_DAY, LAST_DAY
from engine.stats.arrays import BoolArray, FloatArray

POWER: Final = 0.80
# One-sided level at which each guardrail is shown to be non-inferior, however many there are: all must be.
NON_INFERIORITY_LEVEL: Final = 0.05
NON_INFERIORITY_CRITICAL: Final = NormalDist().inv_cdf(1.0 - NON_INFERIORITY_LEVEL)
# Conversions (of revenue, paying visitors) that a plan waits for, per variant on average.
LEAST_CONVERSIONS: Final = 50


def required_visitors(  # noqa: PLR0913  # every term of the formula
    *,
    mean: npt.ArrayLike,
    variance: npt.ArrayLike,
    conversion_rate: npt.ArrayLike,
    minimum_effect: npt.ArrayLike,
    shares: npt.ArrayLike,
    drift: npt.ArrayLike,
    least_conversions: npt.ArrayLike = 0.0,
    least_per_variant: int = LEAST_CONVERSIONS,
) -> FloatArray:
    """Compute the visitors that detect the minimum effect; NaN where no number of visitors does.

    N = drift² · V (1 + δ/2)² (1/w_c + 1/w_v) / (δ m)², for the variant with the fewest visitors, rounded up;
    at least `least_per_variant` a variant on average, and `least_conversions` in all. `drift` is the mean z
    that gives the power (z_{1-alpha/2} + z_power for one look), `shares` those of the variants' traffic
    along the last axis, the control first, and `conversion_rate` is of visitors who convert or pay. At the
    effect δ the pooled mean holds half of it, hence (1 + δ/2)²: without it 77% power are delivered instead
    of 80%. Blinded re-estimation: Kieser and Friede (2003), Statistics in Medicine 22.
    """
    pooled, effect = np.asarray(mean, np.float64), np.asarray(minimum_effect, np.float64)
    rate = np.asarray(conversion_rate, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        per_square = np.asarray(variance, np.float64) * smallest_pair(shares) / (effect * pooled) ** 2
        needed = np.square(np.asarray(drift, np.float64) * (1.0 + effect / 2.0)) * per_square
        least = np.maximum(least_per_variant * np.asarray(shares).shape[-1], least_conversions)
        visitors = np.ceil(np.maximum(needed, least / rate) * (1.0 - 1e-12))
    return np.where((pooled > 0) & (rate > 0) & np.isfinite(visitors), visitors, np.nan)


def non_inferiority_visitors(
    *,
    variance: npt.ArrayLike,
    lost: npt.ArrayLike,
    kept: npt.ArrayLike,
    shares: npt.ArrayLike,
    drift: npt.ArrayLike,
) -> FloatArray:
    """Compute the visitors that show a guardrail without harm to be within its margin; NaN if none do.

    N = drift² · V (k²/w_c + 1/w_v) / lost², for the variant with the fewest visitors, rounded up. `lost` is
    the margin in the metric's unit, `kept` the ratio of the means at a relative margin (k = 1 below 1, which
    errs on the side of more visitors), and `drift` the mean z at the plan, z_.95 + z_β.
    """
    weights, lost_ = np.asarray(shares, np.float64), np.asarray(lost, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        more = (np.square(np.maximum(np.asarray(kept, np.float64), 1.0)) - 1.0) / weights[..., 0]
        needed = np.square(np.asarray(drift, np.float64) / lost_) * np.asarray(variance, np.float64)
        visitors = np.ceil(needed * (smallest_pair(weights) + more) * (1.0 - 1e-12))
    return np.where((lost_ > 0) & (visitors > 0) & np.isfinite(visitors), visitors, np.nan)


def non_inferiority_drift(power: float) -> float:
    """Compute the mean z at the plan that shows a guardrail within its margin with that power."""
    return float(NON_INFERIORITY_CRITICAL + scipy.special.ndtri(power))


def power_of_each(tests: int, *, together: float = POWER) -> float:
    """Compute the power of each of so many tests that all must show their effect with the power `together`.

    The chance of missing one is shared among them: 1 - (1 - power) / tests.
    """
    return 1.0 - (1.0 - together) / tests


def detectable_effect(
    *,
    mean: npt.ArrayLike,
    variance: npt.ArrayLike,
    visitors: npt.ArrayLike,
    shares: npt.ArrayLike,
    drift: npt.ArrayLike,
) -> FloatArray:
    """Compute the effect that so many visitors detect: the inverse of `required_visitors`; NaN without one.

    δ = a / (1 - a/2) with a = drift sqrt(V (1/w_c + 1/w_v) / N) / m.
    """
    pooled, count = np.asarray(mean, np.float64), np.asarray(visitors, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.asarray(drift, np.float64) * standard_error(variance, count, shares) / pooled
        effect = ratio / (1.0 - ratio / 2.0)
    known = (pooled > 0) & (count > 0) & (ratio > 0) & (ratio < 2.0)  # no lift is larger
    return np.where(known, effect, np.nan)


def standard_error(variance: npt.ArrayLike, visitors: npt.ArrayLike, shares: npt.ArrayLike) -> FloatArray:
    """Compute sqrt(V (1/w_c + 1/w_v) / N), in the metric's unit; NaN or infinite without visitors."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        square = np.asarray(variance, np.float64) * smallest_pair(shares) / np.asarray(visitors, np.float64)
        return np.asarray(np.sqrt(square))


def smallest_pair(shares: npt.ArrayLike) -> FloatArray:
    """Compute 1/w_c + 1/w_v for the variant with the smallest share above 0; the control comes first."""
    weights = np.asarray(shares, np.float64)
    with np.errstate(divide="ignore"):
        smallest = np.where(weights[..., 1:] > 0, weights[..., 1:], np.inf).min(axis=-1, initial=np.inf)
        return np.asarray(1.0 / weights[..., 0] + 1.0 / smallest)


def is_reached(
    visitors: npt.ArrayLike, days: npt.ArrayLike, required: npt.ArrayLike, *, is_given: bool
) -> BoolArray:
    """Flag plans that are reached after so many visitors and running days.

    At the required sample, from FIRST_DAY on; or on LAST_DAY, unless the sample was given.
    """
    counted, ran = np.asarray(visitors, np.float64), np.asarray(days, np.float64)
    enough = (counted >= np.nan_to_num(required, nan=np.inf)) & (ran >= FIRST_DAY)
    return np.asarray(enough | ((ran >= LAST_DAY) & (not is_given)))


def reachable_visitors(
    visitors: npt.ArrayLike,
    days: npt.ArrayLike,
    required: npt.ArrayLike,
    *,
    is_given: bool,
    last_day: npt.ArrayLike = LAST_DAY,
) -> FloatArray:
    """Compute the visitors that the confidence sequence is tuned to: the plan, or those by `last_day`.

    A sequence tuned to a plan beyond reach would be blind to every effect before it. Where outcomes take
    days, `visitors` are all who entered, and `last_day` that on which they enter in time. Where a ramp lets
    in more and more, days are those of traffic at one share.
    """
    counted, ran = np.asarray(visitors, np.float64), np.asarray(days, np.float64)
    planned = np.nan_to_num(np.asarray(required, np.float64), nan=np.inf)
    if is_given:
        return np.asarray(planned + 0.0 * counted)
    at_this_pace = counted * np.maximum(np.asarray(last_day, np.float64), 0.0)
    beyond = np.full(np.broadcast_shapes(at_this_pace.shape, ran.shape), np.inf)
    by_last_day = np.divide(at_this_pace, ran, out=beyond, where=ran > 0)
    return np.asarray(np.minimum(planned, by_last_day))


def observed_fraction(visitors: npt.ArrayLike, tuned_to: npt.ArrayLike, at_plan: npt.ArrayLike) -> FloatArray:
    """Compute visitors so far over those that the confidence sequence is tuned to.

    `at_plan` are the visitors at the recorded look at the plan, NaN before it: at most 1 before, above 1
    afterwards.
    """
    counted, planned = np.asarray(visitors, np.float64), np.asarray(at_plan, np.float64)
    tuned = np.asarray(tuned_to, np.float64)
    before = np.where(tuned > 0, np.minimum(counted / np.where(tuned > 0, tuned, 1.0), 1.0), 0.0)
    return np.where(np.isnan(planned), before, counted / np.maximum(planned, 1.0))
