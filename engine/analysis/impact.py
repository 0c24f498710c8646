"""What a difference is worth: the lift of revenue per visitor, and the money it means in a year."""

import numpy as np

from engine.analysis.effects import relative_change
from engine.analysis.evidence import Evidence
from engine.analysis.pairs import revenue_means
from engine.design.experiment import Experiment
from engine.stats.moments import FloatArray

DAYS_A_YEAR = 365


def observed_days(evidence: Evidence) -> int:
    """Days from the first to the last with a visitor; 0 where days are not known."""
    seen = np.flatnonzero(evidence.daily.visitors.sum(axis=1))
    if seen.size == 0:
        return 0
    days = evidence.daily.days
    return int((days[seen[-1]] - days[seen[0]]).days) + 1


def revenue_lift(evidence: Evidence, control: int | None) -> FloatArray:
    """Relative change of revenue per visitor against the control, goals by variants.

    NaN without visitors, or where the control brought no revenue.
    """
    if control is None:
        return np.full(evidence.conversions.shape, np.nan)
    return np.where(evidence.visitors > 0, relative_change(*revenue_means(control, evidence)), np.nan)


def revenue_difference(evidence: Evidence, control: int | None) -> FloatArray:
    """Cents per visitor more than the control's, goals by variants; NaN where either has no visitors."""
    if control is None:
        return np.full(evidence.conversions.shape, np.nan)
    base, mean = revenue_means(control, evidence)
    known = np.minimum(evidence.visitors, evidence.visitors[control]) > 0
    return np.where(known, mean - base, np.nan)


def yearly_impact(experiment: Experiment, evidence: Evidence, control: int | None) -> FloatArray:
    """Cents more a year if every eligible visitor got the variant instead of the control.

    Goals by variants. Visitors in the experiment are `traffic_allocation` percent of the eligible ones.
    NaN where there are no visitors, or no days to tell how many come.
    """
    difference, days = revenue_difference(evidence, control), observed_days(evidence)
    if days == 0 or experiment.traffic_allocation == 0:
        return np.full(difference.shape, np.nan)
    eligible = evidence.visitors.sum() * 100 / experiment.traffic_allocation
    return np.asarray(difference * eligible / days * DAYS_A_YEAR)
