"""Difference of differences: the change of one test's effect by another test's variant."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.sequential.confidence_sequence import PLANNED_BY_DEFAULT
from engine.stats.sequential.confidence_sequence_boundary import log_p_value

# The level that always-valid p values are tuned to; they are valid at any other, too.
_TUNED_TO: Final = 0.05


@dataclass(frozen=True, slots=True)
class EffectChange:
    """Changes of effects: of variant a against its control, beside variant b against beside its control.

    Rows are the variants a of the test whose goal is measured, columns the variants b of the other test.
    NaN beside either control, and where a cell has no estimate. `log_p` is two-sided and holds at every look.
    """

    difference: Estimate
    log_p: FloatArray


def difference_of_differences(cells: Estimate, *, control: int, other_control: int) -> EffectChange:
    """Compare the effects of a test within each variant of another, elementwise over its cells.

    (m_ab - m_0b) - (m_a0 - m_00), whose variance is the sum of those of the four means, as their visitors
    are different ones. p values are always valid: `confidence_sequence_boundary.log_p_value`.
    """
    beside = cells.minus(Estimate(*(part[[control], :] for part in _parts(cells))))
    change = beside.minus(Estimate(*(part[:, [other_control]] for part in _parts(beside))))
    is_control = np.zeros(cells.value.shape, bool)
    is_control[control, :] = is_control[:, other_control] = True
    value, variance, n = (np.where(is_control, np.nan, part) for part in _parts(change))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = value / np.sqrt(variance)
    log_p = np.where(np.isfinite(z), log_p_value(z, n / PLANNED_BY_DEFAULT, _TUNED_TO), np.nan)
    return EffectChange(Estimate(value, variance, n), np.asarray(log_p))


def _parts(estimate: Estimate) -> tuple[FloatArray, FloatArray, FloatArray]:
    return estimate.value, estimate.variance, estimate.n
