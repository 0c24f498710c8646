"""Corrections for several comparisons and several looks: Holm, Dunnett, confidence sequence."""

from dataclasses import replace

import numpy as np
import scipy

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.effects import Effects, compare_with_control
from engine.analysis.comparison.monitoring import Monitoring
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.dunnett import critical_dunnett, log_p_dunnett, shared_noise
from engine.stats.frequentist.multiple_testing import holm


def correct(
    data: AnalysisData, effects: Effects, monitoring: Monitoring | None
) -> tuple[Effects, FloatArray]:
    """Adjust p values and intervals by the experiment's statistics; with the level of each interval.

    `effects` are at the level that Bonferroni gives each comparison, `monitoring` is valid at every look. An
    adjusted p is to be compared with the plan's `decision_alpha` (doubled for one-sided tests: all p here
    are two-sided), and is at most that exactly where its interval leaves out 0.
    """
    plan = data.plan
    levels = np.full(effects.log_p.shape, plan.two_sided_alpha)
    if plan.statistics.sequential != "none":
        return (effects if monitoring is None else _always_valid(effects, monitoring)), levels
    correction = plan.statistics.correction
    if correction == "bonferroni" or plan.is_bayesian:
        return effects, levels
    if correction == "holm":
        log_p, adjusted = holm(effects.log_p), holm_levels(effects.log_p, plan.family_alpha)
    else:
        log_p, adjusted = _dunnett(data, effects.log_p)
    levels = np.where(np.isnan(adjusted), levels, adjusted)
    at_levels = compare_with_control(data, levels)
    return replace(effects, log_p=log_p, low=at_levels.low, high=at_levels.high), levels


def adjust_chances(data: AnalysisData, chance: FloatArray) -> FloatArray:
    """Adjust chances to beat the control by Holm, where the experiment's statistics ask for it.

    The chance of the less likely direction takes the place of p, as it is half of p under a flat prior, and
    is at most 1/2: an adjusted chance is nearer to 1/2. Comparisons along the last axis; NaN for one
    comparison, and where another correction holds.
    """
    if data.plan.statistics.correction != "holm" or len(data.plan.challengers) < 2:
        return np.full(chance.shape, np.nan)
    is_better = chance >= 0.5
    with np.errstate(divide="ignore"):
        unlikely = np.log(np.where(is_better, 1.0 - chance, chance))
    adjusted = np.minimum(np.exp(holm(unlikely)), 0.5)
    return np.where(is_better, 1.0 - adjusted, adjusted)


def _always_valid(effects: Effects, monitoring: Monitoring) -> Effects:
    """Replace p values and intervals by those valid at every look."""
    compared = ~np.isnan(effects.difference)
    return replace(
        effects,
        log_p=np.where(compared, monitoring.log_p, np.nan),
        low=np.where(compared, monitoring.lift_low, np.nan),
        high=np.where(compared, monitoring.lift_high, np.nan),
    )


def holm_levels(log_p: FloatArray, family: float) -> FloatArray:
    """Find the level of each comparison's step in Holm's procedure (1979), comparisons along the last axis.

    Comparisons after the first that fails keep the level of the failed step.
    """
    count = (~np.isnan(log_p)).sum(axis=-1, keepdims=True)
    ranks = np.argsort(np.argsort(log_p, axis=-1, kind="stable"), axis=-1, kind="stable")
    rejected = np.sort(holm(log_p), axis=-1) <= np.log(family)
    last_step = np.minimum(rejected.sum(axis=-1, keepdims=True), np.maximum(count - 1, 0))
    return np.where(np.isnan(log_p), np.nan, family / np.maximum(count - np.minimum(ranks, last_step), 1))


def adjust_dunnett(log_p: FloatArray, shared: FloatArray, family: float) -> tuple[FloatArray, FloatArray]:
    """Adjust p values by Dunnett, with the level that each row's critical value has in a single comparison.

    `log_p` is that of each comparison's own test and `shared` the control's share of its noise
    (`dunnett.shared_noise`), comparisons along the last axis. NaN where either is.
    """
    is_known = np.isfinite(log_p) & np.isfinite(shared)
    known = np.where(is_known, shared, np.nan)
    z = np.where(is_known, -scipy.special.ndtri_exp(log_p - np.log(2.0)), np.nan)
    levels = 2.0 * scipy.special.ndtr(-critical_dunnett(family, known)[..., None])
    return log_p_dunnett(z, known), np.where(is_known, levels, np.nan)


def _dunnett(data: AnalysisData, log_p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Adjust the comparisons of an experiment with its control."""
    if data.pairs is None:
        return log_p, np.full(log_p.shape, np.nan)
    control, variant = data.pairs.control, data.pairs.variant
    shared = shared_noise(control.variance, variant.variance[..., None])[..., 0]
    adjusted, levels = adjust_dunnett(log_p, shared, data.plan.family_alpha)
    # Where nothing varies there is no noise to share.
    comparisons = max(len(data.plan.weights) - 1, 1)
    plain = np.minimum(log_p + np.log(comparisons), 0.0)
    return np.where(np.isnan(adjusted), plain, adjusted), levels
