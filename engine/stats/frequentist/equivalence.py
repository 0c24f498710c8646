"""Equivalence test of two means within a relative margin, and the test of harm beyond a margin."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import ArrayRecord, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.skewness import PooledCumulants, remove_skewness, restore_skewness

# Steps to the bound with skewness, each of which changes it by less than a tenth of the one before.
_STEPS = 8


@dataclass(frozen=True, slots=True)
class Equivalence(ArrayRecord):
    """Statistics of the two one-sided tests, elementwise; NaN where there is no test.

    `above` is the z of the variant being above the lower margin, `below` that of its being below the upper
    one. Both must exceed a critical value: Schuirmann (1987), Journal of Pharmacokinetics 15.
    """

    above: FloatArray
    below: FloatArray


def equivalence(
    control: Estimate,
    variant: Estimate,
    *,
    margin: npt.ArrayLike,
    cumulants: PooledCumulants | None = None,
) -> Equivalence:
    """Test that the lift lies between -margin and +margin, a share of the control's mean.

    z = (m_v - (1 ± margin) m_c) / sqrt(v_v + (1 ± margin)² v_c), linear in the means, so that no ratio is
    needed; freed of skewness where the `cumulants` of both means are given. Not defined where the control's
    mean is below 0.
    """
    share = np.asarray(margin, np.float64)
    return Equivalence(
        above=relative_z(control, variant, ratio=1.0 - share, cumulants=cumulants),
        below=-relative_z(control, variant, ratio=1.0 + share, cumulants=cumulants),
    )


def remaining_lifts(
    control: Estimate,
    variant: Estimate,
    *,
    critical: npt.ArrayLike,
    cumulants: PooledCumulants | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Find the lowest and the highest lift that the one-sided tests at `critical` do not rule out.

    The ratios at which `relative_z` is `critical` and -`critical`, less 1, so that `equivalence` holds at a
    margin exactly where both lie within it. Shares; NaN where the control's mean is not above 0 by `critical`
    standard errors, so that there is no bound.
    """
    size = np.broadcast_to(np.asarray(critical, np.float64), control.value.shape)
    low, high = (_ratio_at(control, variant, sign * size) for sign in (1.0, -1.0))
    if cumulants is not None:
        for _ in range(_STEPS):
            low, high = (
                _ratio_at(control, variant, restore_skewness(sign * size, cumulants.skewness(ratio)))
                for sign, ratio in ((1.0, low), (-1.0, high))
            )
    return low - 1.0, high - 1.0


def _ratio_at(control: Estimate, variant: Estimate, z: FloatArray) -> FloatArray:
    """Find the ratio at which the plain z is `z`: a root of (m_v - r m_c)² = z² (v_v + r² v_c).

    Fieller (1954), Journal of the Royal Statistical Society B 16.
    """
    square = np.square(z)
    a = control.value**2 - square * control.variance
    b = control.value * variant.value
    inner = b * b - a * (variant.value**2 - square * variant.variance)
    is_known = control.defined & variant.defined & (control.value > 0) & (a > 0) & (inner >= 0)
    root = np.sqrt(np.where(is_known, inner, np.nan))
    return np.asarray((b - np.sign(z) * root) / np.where(is_known, a, 1.0))


def relative_z(
    control: Estimate,
    variant: Estimate,
    *,
    ratio: npt.ArrayLike,
    added: npt.ArrayLike = 0.0,
    cumulants: PooledCumulants | None = None,
) -> FloatArray:
    """Compute the z of the variant's mean being `ratio` times the control's, and `added` to that.

    NaN where not defined, as where the control's mean is below 0, unless `ratio` is 1: differences are of
    means of either sign. Given the `cumulants` of both means, z is freed of its skewness at that ratio
    (`remove_skewness`).
    """
    times = np.asarray(ratio, np.float64)
    error = np.sqrt(variant.variance + times**2 * control.variance)
    defined = control.defined & variant.defined & (error > 0) & ((control.value >= 0) | (times == 1.0))
    apart = variant.value - times * control.value - np.asarray(added, np.float64)
    z = np.divide(apart, error, out=np.full(defined.shape, np.nan), where=defined)
    return z if cumulants is None else remove_skewness(z, cumulants.skewness(times))
