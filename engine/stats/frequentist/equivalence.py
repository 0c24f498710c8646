"""Equivalence test of two means within a relative margin, and the test of harm beyond a margin."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import ArrayRecord, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.skewness import PooledCumulants, remove_skewness


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


def relative_z(
    control: Estimate,
    variant: Estimate,
    *,
    ratio: npt.ArrayLike,
    cumulants: PooledCumulants | None = None,
) -> FloatArray:
    """Compute the z of the variant's mean being `ratio` times the control's; NaN where not defined.

    Given the `cumulants` of both means, z is freed of its skewness at that ratio (`remove_skewness`).
    """
    times = np.asarray(ratio, np.float64)
    error = np.sqrt(variant.variance + times**2 * control.variance)
    defined = control.defined & variant.defined & (control.value >= 0) & (error > 0)
    apart = variant.value - times * control.value
    z = np.divide(apart, error, out=np.full(defined.shape, np.nan), where=defined)
    return z if cumulants is None else remove_skewness(z, cumulants.skewness(times))
