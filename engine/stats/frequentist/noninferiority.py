"""Non-inferiority test against a margin, for guardrails."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.skewness import PooledCumulants, remove_skewness, restore_skewness


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Result of a non-inferiority test, elementwise; NaN where `defined` is False.

    `log_p` is the one-sided log p of being worse by the margin or more. `holds` where that is rejected, and
    `broken` where the variant is significantly worse by more than the margin; most guardrails are neither,
    yet. `worst` is the lower confidence bound of the lift, a share in the wanted direction.
    """

    log_p: FloatArray
    holds: BoolArray
    broken: BoolArray
    worst: FloatArray
    defined: BoolArray


def noninferiority_test(  # noqa: PLR0913  # keyword arguments of a test
    control: Estimate,
    variant: Estimate,
    *,
    margin: npt.ArrayLike,
    alpha: npt.ArrayLike,
    wanted: npt.ArrayLike = 1,
    cumulants: PooledCumulants | None = None,
) -> NonInferiority:
    """Test that the lift is above -`margin` (a share of the control's mean), one-sided at alpha/2.

    `wanted` is 1 where more is better, and -1 where less is: then the lift has to stay below +margin.
    z = w (m_t - (1 - w margin) m_c) / sqrt(v_t + (1 - w margin)² v_c): linear in the means, so it needs no
    ratio and agrees with the lower bound of Fieller's two-sided interval of the lift at `alpha`. Hauschke,
    Kieser, Diletti and Burke (1999), "Sample size determination for proving equivalence based on the ratio
    of two means for normally distributed data", Statistics in Medicine 18. Given the `cumulants` of both
    means, z is freed of the skewness that it has at the margin (`remove_skewness`), and so is the bound.
    Not defined where the control's mean is not above 0: a share of it is no margin.
    """
    sign = np.sign(np.asarray(wanted, np.float64))
    kept = 1.0 - sign * np.asarray(margin, np.float64)
    error = np.sqrt(variant.variance + kept**2 * control.variance)
    defined = control.defined & variant.defined & (control.value > 0) & (error > 0)
    z = np.where(defined, sign * (variant.value - kept * control.value), np.nan) / np.where(
        defined, error, 1.0
    )
    critical = -special.ndtri(np.asarray(alpha, np.float64) / 2.0)
    skewness = np.zeros(()) if cumulants is None else sign * cumulants.skewness(kept)
    z = remove_skewness(z, skewness)
    reached = np.where(defined, z, 0.0)
    return NonInferiority(
        log_p=np.asarray(special.log_ndtr(-z)),
        holds=np.asarray(defined & (reached > critical)),
        broken=np.asarray(defined & (reached < -critical)),
        worst=_worst(control, variant, sign, restore_skewness(critical, skewness), defined),
        defined=np.asarray(defined),
    )


def _worst(
    control: Estimate, variant: Estimate, sign: FloatArray, critical: FloatArray, defined: BoolArray
) -> FloatArray:
    """Fieller's bound (1954, JRSS B 16) on the unwanted side, as a lift in the wanted direction."""
    scale = control.value**2 - critical**2 * control.variance
    bounded = defined & (scale > 0)
    unit = np.where(bounded, scale, np.nan)
    centre = control.value * variant.value / unit
    reach = critical * np.sqrt(variant.variance * unit + control.variance * variant.value**2) / unit
    return np.asarray(sign * (centre - sign * reach - 1.0))
