"""Repeated confidence intervals and decisions at group-sequential looks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import fieller
from engine.stats.sequential.group_sequential import CLOSEST_LOOKS, obrien_fleming


@dataclass(frozen=True, slots=True)
class Look:
    """A comparison at one look, elementwise; NaN where `defined` is False.

    `critical` is the critical |z| of this look; `decided` where it was reached: exactly there the
    difference's interval [`low`, `high`] excludes 0, and the lift's [`lift_low`, `lift_high`] too where
    the control is separable from 0. The intervals of all looks hold together at the planned level.
    """

    critical: float
    z: FloatArray
    low: FloatArray
    high: FloatArray
    lift_low: FloatArray
    lift_high: FloatArray
    decided: BoolArray
    defined: BoolArray


def look_at(control: Estimate, variant: Estimate, *, looks: npt.ArrayLike, alpha: float) -> Look:
    """Test a comparison at the last of `looks`, the information fractions of all looks so far.

    Critical values spend alpha as O'Brien and Fleming would: Lan and DeMets (1983), Biometrika 70. The
    repeated confidence intervals, estimate ± critical · standard error, are of Jennison and Turnbull
    (1989), JRSS B 51. The fraction is observed over planned visitors; see `taken`.
    """
    critical = float(obrien_fleming(looks, alpha)[-1])
    change = variant.minus(control)
    z = change.z
    defined = np.isfinite(z)
    reach = np.where(defined, critical * np.sqrt(np.where(defined, change.variance, 0.0)), np.nan)
    limit = np.where(defined, critical, np.nan)
    lift_low, lift_high = fieller(control.value, control.variance, variant.value, variant.variance, limit)
    return Look(
        critical=critical,
        z=z,
        low=change.value - reach,
        high=change.value + reach,
        lift_low=lift_low,
        lift_high=lift_high,
        decided=defined & (np.abs(np.where(defined, z, 0.0)) > critical),
        defined=defined,
    )


def taken(visitors: npt.ArrayLike, planned: float) -> FloatArray:
    """Convert visitor counts of looks to information fractions, in order.

    The first count at or beyond the plan ends it: all of alpha is spent there, and its decision stands.
    Looks without new visitors do not count. Empty without visitors.
    """
    fractions = np.minimum(np.asarray(visitors, np.float64) / planned, 1.0)
    kept: list[float] = []
    for fraction in fractions:
        if fraction - (kept[-1] if kept else 0.0) >= CLOSEST_LOOKS:
            kept.append(float(fraction))
    return np.array(kept)
