"""How sure each comparison has to be, given how many there are and how often one looks."""

from dataclasses import replace

import numpy as np
from scipy import special

from engine.analysis.comparison.effects import Effects, effects_of
from engine.analysis.comparison.metrics import control_column
from engine.analysis.comparison.monitoring import monitor
from engine.analysis.comparison.significance_level import effective_alpha
from engine.analysis.comparison.stratified import paired_with
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.dunnett import critical_dunnett, log_p_dunnett, shared_noise
from engine.stats.frequentist.multiple_testing import holm


def correct(experiment: Experiment, evidence: Evidence, effects: Effects) -> tuple[Effects, FloatArray]:
    """Adjust p values and intervals as the experiment's statistics ask; with the level of each interval.

    `effects` are of the level that Bonferroni gives each comparison. An adjusted p is to be held against
    `decision_alpha`, and is at most that exactly where its interval leaves out 0.
    """
    each = effective_alpha(experiment.confidence_level, len(experiment.variants))
    levels = np.full(effects.log_p.shape, each)
    if experiment.statistics.sequential != "none":
        return _always_valid(experiment, evidence, effects), levels
    correction = experiment.statistics.correction
    if correction == "bonferroni" or experiment.analysis_method == "bayesian":
        return effects, levels
    family = (100 - experiment.confidence_level) / 100
    if correction == "holm":
        log_p, wanted = holm(effects.log_p), holm_levels(effects.log_p, family)
    else:
        log_p, wanted = _dunnett(experiment, evidence, effects.log_p, family)
    levels = np.where(np.isnan(wanted), levels, wanted)
    low, high = effects.low, effects.high
    for level in np.unique(levels):
        found = effects_of(experiment, evidence, float(level))
        low, high = np.where(levels == level, found.low, low), np.where(levels == level, found.high, high)
    return replace(effects, log_p=log_p, low=low, high=high), levels


def _always_valid(experiment: Experiment, evidence: Evidence, effects: Effects) -> Effects:
    """P values and intervals that hold at every look."""
    sequence = monitor(experiment, evidence)
    if sequence is None:
        return effects
    compared = ~np.isnan(effects.difference)
    found = (
        np.where(compared, part, np.nan) for part in (sequence.log_p, sequence.lift_low, sequence.lift_high)
    )
    return replace(effects, **dict(zip(("log_p", "low", "high"), found, strict=True)))


def holm_levels(log_p: FloatArray, family: float) -> FloatArray:
    """The level of the step at which Holm (1979) judged each comparison, or would have, had it not ended."""
    count = (~np.isnan(log_p)).sum(axis=-1, keepdims=True)
    ranks = np.argsort(np.argsort(log_p, axis=-1, kind="stable"), axis=-1, kind="stable")
    rejected = np.sort(holm(log_p), axis=-1) <= np.log(family)
    last_step = np.minimum(rejected.sum(axis=-1, keepdims=True), np.maximum(count - 1, 0))
    return np.where(np.isnan(log_p), np.nan, family / np.maximum(count - np.minimum(ranks, last_step), 1))


def adjust_dunnett(log_p: FloatArray, shared: FloatArray, family: float) -> tuple[FloatArray, FloatArray]:
    """Dunnett's p values, and the level that each row's critical value means for a single comparison.

    `log_p` is that of each comparison's own test and `shared` the control's share of its noise
    (`dunnett.shared_noise`), comparisons along the last axis. NaN where either is.
    """
    there = np.isfinite(log_p) & np.isfinite(shared)
    known = np.where(there, shared, np.nan)
    z = np.where(there, -special.ndtri_exp(log_p - np.log(2.0)), np.nan)
    levels = 2.0 * special.ndtr(-critical_dunnett(family, known)[..., None])
    return log_p_dunnett(z, known), np.where(there, levels, np.nan)


def _dunnett(
    experiment: Experiment, evidence: Evidence, log_p: FloatArray, family: float
) -> tuple[FloatArray, FloatArray]:
    """The same of an experiment's comparisons with its control."""
    control, variant = paired_with(control_column(experiment) or 0, experiment, evidence)
    shared = shared_noise(control.variance, variant.variance[..., None])[..., 0]
    adjusted, levels = adjust_dunnett(log_p, shared, family)
    # Where nothing varies there is no noise to share.
    plain = np.minimum(log_p + np.log(max(len(experiment.variants) - 1, 1)), 0.0)
    return np.where(np.isnan(adjusted), plain, adjusted), levels
