"""Significance of each variant on each goal: winner, loser, inconclusive or insufficient data.

NaN stands where there is no number; a report turns it into None with a reason.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.corrections import correct
from engine.analysis.comparison.effects import Effects, compare_with_control
from engine.analysis.comparison.enough_data import has_enough
from engine.analysis.comparison.monitoring import Monitoring, expected_conversions, is_monitored, monitor
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.quantiles import enough_beyond
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.frequentist.multiple_testing import prefer_primary
from engine.stats.log_p_values import log_p_one_sided, signed_z


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """Corrected effects and their significance, goals by variants.

    `one_look_log_p` is the two-sided log p of each comparison's own test, before corrections for several
    comparisons or looks; NaN in the control's column. `interval_levels` are the levels of the effects'
    intervals. `monitoring` are the comparisons valid at every look, None where they do not apply. `status`
    holds a VariantStatus a cell, `gain` the difference with the sign turned where less is better,
    `confidence` 1 - p, and `score` what the experiment's method compares with its threshold. p is
    one-sided, as in `effects.log_p`, where the experiment's tests are. `leader[g]` is the column of the
    goal's best winner or, without one, of the best challenger; -1 without any. `is_discovery` flags
    differences that hold among all secondary goals, `is_enough` comparisons with enough data, and
    `is_monitored` those with enough of the `expected` conversions for a method valid at every look. `z` is
    that of one look in the wanted direction.
    """

    effects: Effects
    one_look_log_p: FloatArray
    interval_levels: FloatArray
    monitoring: Monitoring | None
    gain: FloatArray
    confidence: FloatArray
    score: FloatArray
    status: npt.NDArray[np.str_]
    leader: IntArray
    is_discovery: BoolArray
    z: FloatArray
    is_enough: BoolArray
    is_monitored: BoolArray
    expected: FloatArray


def assess_significance(data: AnalysisData) -> Significance:
    """Compare every variant with the control on every goal, and find winners and losers."""
    plan, enough = data.plan, _has_enough_data(data)
    plain = compare_with_control(data, plan.two_sided_alpha)
    z = one_look_z(data, plain.log_p)
    expected = expected_conversions(data)
    monitored = is_monitored(data, expected)
    monitoring = monitor(data, np.where(monitored, z, np.nan))
    effects, levels = correct(data, plain, monitoring)
    gain = plan.wanted * effects.difference
    log_p, log_p_worse = _log_p_by_direction(plan, effects.log_p, gain)
    effects = replace(effects, log_p=log_p)
    if plan.is_bayesian:
        observed = plan.wanted * observed_difference(data)
        # A prior outweighs few conversions: then chance and observed rates may contradict each other.
        better = (effects.chance >= 1.0 - plan.decision_alpha) & (observed > 0)
        worse = (effects.chance <= plan.decision_alpha) & (observed < 0)
        effects = _without_contradictions(effects, observed_difference(data), enough)
    else:
        better = (log_p <= np.log(plan.decision_alpha)) & (gain > 0)
        worse = (log_p_worse <= np.log(plan.decision_alpha)) & (gain < 0)
    confidence = -np.expm1(log_p)
    if plan.statistics.sequential != "none" or data.by_epoch is not None:
        enough &= ~np.isnan(effects.log_p)
    return Significance(
        effects=effects,
        one_look_log_p=plain.log_p,
        # A Bayesian decision is one-sided, so its interval leaves out alpha on each side and always agrees.
        interval_levels=1.0 - (2.0 * levels if plan.is_bayesian else levels),
        monitoring=monitoring,
        gain=gain,
        confidence=confidence,
        score=effects.chance if plan.is_bayesian else confidence,
        status=_status(plan.control, better=better, worse=worse, enough=enough),
        leader=_leader(gain, better & enough, enough),
        is_discovery=_discoveries_by_direction(plan, log_p, log_p_worse, gain),
        z=plan.wanted * z,
        is_enough=enough,
        is_monitored=monitored,
        expected=expected,
    )


def observed_difference(data: AnalysisData) -> FloatArray:
    """Subtract the control's observed metric from each variant's, goals by variants; NaN without either."""
    if data.pairs is None:
        return np.full(data.evidence.conversions.shape, np.nan)
    return np.asarray(data.pairs.variant.value - data.pairs.control.value)


def _without_contradictions(effects: Effects, observed: FloatArray, enough: BoolArray) -> Effects:
    """Remove improvements that a prior alone turns against what was observed, on too few data."""
    is_empty = ~enough & (effects.improvement * observed < 0)
    relative = (np.where(is_empty, np.nan, each) for each in (effects.improvement, effects.low, effects.high))
    return replace(effects, **dict(zip(("improvement", "low", "high"), relative, strict=True)))


def one_look_z(data: AnalysisData, log_p: FloatArray) -> FloatArray:
    """Convert two-sided log p of a single look to z, positive where the variant is higher; NaN where p is."""
    if data.pairs is None:
        return np.full(log_p.shape, np.nan)
    return signed_z(log_p, data.pairs.variant.value >= data.pairs.control.value)


def _log_p_by_direction(
    plan: AnalysisPlan, log_p: FloatArray, gain: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log p of being better and of being worse; one and the same where tests are two-sided."""
    if not plan.is_one_sided:
        return log_p, log_p
    return log_p_one_sided(log_p, gain), log_p_one_sided(log_p, -gain)


def _has_enough_data(data: AnalysisData) -> BoolArray:
    evidence, control = data.evidence, data.plan.control
    if control is None:
        return np.zeros(evidence.conversions.shape, bool)
    enough = has_enough(
        evidence.known_units,
        data.deciding,
        data.needs_mean_test,
        control,
        is_bayesian=data.plan.is_bayesian,
        in_clusters=data.plan.in_clusters,
    )
    for row, quantile in evidence.quantiles.items():
        enough[row] = enough_beyond(quantile, control)
    return enough & data.is_comparable


def _leader(gain: FloatArray, winners: BoolArray, enough: BoolArray) -> IntArray:
    """Pick the best winner; without any the best variant with enough data; without any the best there is."""
    known = ~np.isnan(gain)
    if not known.any():
        return np.full(len(gain), -1)
    rank = np.where(winners, 2, np.where(enough, 1, 0))
    first = known & (rank == np.where(known, rank, -1).max(axis=1, keepdims=True))
    return np.where(known.any(axis=1), np.where(first, gain, -np.inf).argmax(axis=1), -1)


def _status(
    control: int | None, *, better: BoolArray, worse: BoolArray, enough: BoolArray
) -> npt.NDArray[np.str_]:
    status = np.select([~enough, better, worse], ["insufficient_data", "winner", "loser"], "inconclusive")
    if control is not None:
        status[:, control] = "control"
    return status


def _discoveries_by_direction(
    plan: AnalysisPlan, log_p: FloatArray, log_p_worse: FloatArray, gain: FloatArray
) -> BoolArray:
    better = _discoveries(plan, log_p)
    if not plan.is_one_sided:
        return better
    return np.asarray(np.where(gain < 0, _discoveries(plan, log_p_worse), better))


def _discoveries(plan: AnalysisPlan, log_p: FloatArray) -> BoolArray:
    """Flag discoveries, goals by variants: the primary goal alone, the others together.

    Among the secondary goals of a frequentist experiment the false discovery rate is controlled
    (`prefer_primary`). A posterior does not change with the number of comparisons.
    """
    if plan.is_bayesian:
        return np.ones(log_p.shape, bool)
    is_primary = np.arange(len(log_p)) == (-1 if plan.primary is None else plan.primary)
    called: BoolArray = prefer_primary(log_p, is_primary, axis=0) <= np.log(plan.decision_alpha)
    return called
