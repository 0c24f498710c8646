"""Continuous monitoring: p values and intervals of an experiment that are valid at every look."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.effects import lift_intervals
from engine.analysis.comparison.enough_data import MIN_CLUSTERS
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.quantiles import expected_beyond
from engine.analysis.evidence.recorded_looks import counted_at_looks
from engine.design.planning.plan_days import FIRST_DAY
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.sequential import confidence_sequence_boundary
from engine.stats.sequential.group_sequential import information_fractions, obrien_fleming

# With fewer expected conversions per arm, the normal approximation behind a sequence is unreliable.
FEWEST_CONVERSIONS: Final = 25


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Comparisons with the control by a method valid at every look, goals by variants.

    `log_p` is at most log(alpha) exactly where |z| reaches `critical`, and there the interval of the lift
    [`lift_low`, `lift_high`], a share, leaves out 0. NaN where a comparison cannot be monitored (yet).
    """

    critical: FloatArray
    log_p: FloatArray
    lift_low: FloatArray
    lift_high: FloatArray


def monitor(data: AnalysisData, known: FloatArray) -> Monitoring | None:
    """Compare every variant with the control, goals by variants, at the level of one comparison.

    `known` are the z of a single look, NaN where they are not monitored. By the confidence sequence tuned to
    the sample plan, or by the O'Brien-Fleming boundary at the looks recorded so far and this one. None
    without a control, for a Bayesian experiment, and for a bandit: its next weights follow from earlier
    outcomes, so the precision of its estimates changes in a way that the sequence is not tuned to.
    """
    plan = data.plan
    if data.pairs is None or plan.control is None or plan.is_bayesian or plan.is_bandit:
        return None
    alpha = plan.two_sided_alpha
    if plan.statistics.sequential == "group_sequential":
        limit = spending_limit(data)
        # The p of one look, scaled so that it is alpha exactly on the boundary.
        scaled = known * float(-scipy.special.ndtri(alpha / 2.0)) / limit
        log_p = np.where(np.isnan(known), np.nan, np.log(2.0) + scipy.special.log_ndtr(-np.abs(scaled)))
    else:
        fraction = data.sample.fraction
        limit = float(confidence_sequence_boundary.critical_value(fraction, alpha))
        always_valid = confidence_sequence_boundary.log_p_value(known, fraction, alpha)
        log_p = np.where(np.isnan(known), np.nan, always_valid)
    critical = np.where(np.isnan(known), np.nan, limit)
    # A level below the smallest float leaves out nothing.
    levels = 2.0 * scipy.special.ndtr(-critical)
    low, high = lift_intervals(data, np.where(levels > 0, levels, np.nan))
    return Monitoring(critical=critical, log_p=log_p, lift_low=low, lift_high=high)


def spending_limit(data: AnalysisData) -> float:
    """Compute the critical |z| of this look, alpha being spent at the looks recorded so far and at this one.

    Lan and DeMets (1983), Biometrika 70, with the O'Brien-Fleming type of spending.
    """
    known = data.sample.collected
    planned = data.sample.required_visitors or max(known, 1)
    # Looks of earlier versions counted visitors, of whom fewer had an outcome.
    looks = [*(min(earlier, known) for earlier in counted_at_looks(data.looks)), known]
    days = data.sample.running_days
    return limit_at_last(looks, float(planned), data.plan.two_sided_alpha, running_days=days)


def limit_at_last(looks: Sequence[int], planned: float, alpha: float, *, running_days: float | None) -> float:
    """Compute the critical |z| at the last of the looks, which are given by their known outcomes.

    A sample that is complete within the first week is judged at its end: alpha is spent by then, at the pace
    so far, and not all at once on the day that completes it.
    """
    end = max(planned, looks[-1] * FIRST_DAY / running_days) if running_days else planned
    return _last_limit(tuple(information_fractions(looks, end).tolist() or [1.0]), alpha)


@lru_cache(maxsize=1024)
def _last_limit(fractions: tuple[float, ...], alpha: float) -> float:
    return float(obrien_fleming(fractions, alpha)[-1])


def is_monitored(data: AnalysisData, expected: FloatArray) -> BoolArray:
    """Flag comparisons with `fewest_required` `expected_conversions`, goals by variants.

    Their tests are reliable with so many (`comparable`).
    Nearly all visitors converting is as hard to judge as hardly any. What is expected and not what is seen,
    so that a variant that breaks conversion altogether is found.
    """
    return np.asarray(expected >= fewest_required(data.plan)) & data.is_comparable


def fewest_required(plan: AnalysisPlan) -> int:
    """Return the conversions that monitoring needs in each arm, or the clusters with one."""
    return MIN_CLUSTERS if plan.in_clusters else FEWEST_CONVERSIONS


def expected_conversions(data: AnalysisData) -> FloatArray:
    """Compute the conversions that the smaller arm would have if nothing differed, goals by variants.

    Of conversion rates the rarer of converting and not converting; of means visitors with a value other
    than 0, as paying visitors, of ratios and of clusters those with such a numerator, and of quantiles
    visitors beyond it. NaN without a control.
    """
    control = data.plan.control
    if control is None:
        return np.full(data.evidence.conversions.shape, np.nan)
    expected = fewest_expected(data.deciding, data.evidence.known_units, control, is_mean=data.plan.is_mean)
    for row, quantile in data.evidence.quantiles.items():
        expected[row] = expected_beyond(quantile, control)
    return expected


def fewest_expected(
    conversions: npt.ArrayLike, visitors: npt.ArrayLike, control: int, *, is_mean: BoolArray
) -> FloatArray:
    """Compute `expected_conversions` of arrays.

    Of conversions (…, G, V), visitors (…, V) or (…, G, V), and is_mean (G).
    """
    hits, n = np.asarray(conversions, np.float64), np.asarray(visitors, np.float64)
    n = n if n.ndim == hits.ndim else n[..., None, :]
    of_control = n[..., [control]]
    rate = (hits + hits[..., [control]]) / np.maximum(n + of_control, 1.0)
    rarer = np.where(is_mean[:, None], rate, np.minimum(rate, 1.0 - rate))
    return np.asarray(rarer * np.minimum(n, of_control))
