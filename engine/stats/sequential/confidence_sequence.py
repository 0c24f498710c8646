"""Confidence sequences: intervals and p values that are valid at every look."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import fieller
from engine.stats.sequential import confidence_sequence_boundary

# With fewer conversions per arm, the normal approximation behind the sequence is unreliable.
FEWEST_CONVERSIONS = 25

# Visitors of a comparison that a sequence is tuned to without a plan.
PLANNED_BY_DEFAULT = 20_000


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """Intervals that hold at every look at once, elementwise over arrays of one shape.

    `difference` lies in [`low`, `high`] in the metric's unit; the relative lift, a share, in [`lift_low`,
    `lift_high`]. `log_p` is the always-valid two-sided log p: below log(alpha) exactly where the interval
    leaves out 0. NaN where `defined` is False, and in the lift where the control is not separable from 0.
    """

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    log_p: FloatArray
    lift_low: FloatArray
    lift_high: FloatArray
    defined: BoolArray


def confidence_sequence(  # a comparison and its boundary
    control: Estimate,
    variant: Estimate,
    *,
    fewest_conversions: npt.ArrayLike,
    alpha: float,
    planned: npt.ArrayLike = PLANNED_BY_DEFAULT,
) -> ConfidenceSequence:
    """Compute the asymptotic confidence sequence of the difference and of the lift.

    Estimate ± critical value · standard error, the critical value of Waudby-Smith, Arbour, Sinha, Kennedy
    and Ramdas (2024), tuned to `planned` visitors in both arms together, which is fixed before the data.
    The lift is Fieller's interval (1954, JRSS B 16) with the critical value. Not defined before the arm with
    the fewest conversions has FEWEST_CONVERSIONS of them.
    """
    change = variant.minus(control)
    z = change.z
    defined = np.isfinite(z) & (np.asarray(fewest_conversions) >= FEWEST_CONVERSIONS)
    fraction = change.n / np.asarray(planned, np.float64)
    known = np.where(defined, fraction, 1.0)
    limits = confidence_sequence_boundary.critical_value(known, alpha)
    log_p = confidence_sequence_boundary.log_p_value(z, known, alpha)
    critical = np.where(defined, limits, np.nan)
    reach = critical * np.sqrt(change.variance)
    lift_low, lift_high = fieller(control.value, control.variance, variant.value, variant.variance, critical)
    return ConfidenceSequence(
        difference=np.where(defined, change.value, np.nan),
        low=change.value - reach,
        high=change.value + reach,
        log_p=np.where(defined, log_p, np.nan),
        lift_low=lift_low,
        lift_high=lift_high,
        defined=defined,
    )


def wins_always_valid(sequence: ConfidenceSequence, *, wanted: npt.ArrayLike = 1) -> BoolArray:
    """Flag variants that have won, valid after every visitor.

    `wanted` is 1 where more is better and -1 where less is. The whole interval lies on the wanted side
    of 0; never where the sequence is not defined. With -`wanted` the flag means that the variant has lost.
    """
    bound = np.where(np.asarray(wanted) > 0, sequence.low, -sequence.high)
    return np.asarray(sequence.defined & (np.where(sequence.defined, bound, 0.0) > 0))


def narrowed(sequence: ConfidenceSequence, *, axis: int = 0) -> ConfidenceSequence:
    """Intersect the intervals of all looks so far, along `axis`.

    All intervals of a confidence sequence hold together, so their intersection does: the highest low,
    the lowest high and the smallest p so far. A look that is not defined repeats the one before it.
    """
    return ConfidenceSequence(
        difference=sequence.difference,
        low=np.fmax.accumulate(sequence.low, axis=axis),
        high=np.fmin.accumulate(sequence.high, axis=axis),
        log_p=np.fmin.accumulate(sequence.log_p, axis=axis),
        lift_low=np.fmax.accumulate(sequence.lift_low, axis=axis),
        lift_high=np.fmin.accumulate(sequence.lift_high, axis=axis),
        defined=np.logical_or.accumulate(sequence.defined, axis=axis),
    )
