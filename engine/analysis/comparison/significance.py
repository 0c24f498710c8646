"""Which variant wins, loses or is undecided on each goal: the arrays behind a report.

In here NaN stands where there is no number; a report turns it into None with a reason.


What else holds of the variant that leads on a goal: at every look, and among several goals.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.corrections import correct
from engine.analysis.comparison.effects import Effects, effects_of
from engine.analysis.comparison.metrics import control_column, is_revenue, wanted_directions
from engine.analysis.comparison.monitoring import monitor
from engine.analysis.comparison.significance_level import decision_alpha, effective_alpha
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.frequentist.multiple_testing import prefer_primary
from engine.stats.sequential.confidence_sequence import wins_always_valid

# Below this many visitors in an arm, one conversion more moves its rate by over a percentage point.
MIN_VISITORS = 100
# Four conversions can't reach 95% even if all are in one of two equal arms (p = 1/16); five can (1/32).
MIN_CONVERSIONS = 5
# Welch's test of revenue leans on the central limit theorem over paying visitors, few and very unequal. So
# many of two equal arms; of unequal ones more (`imbalance_factor`).
MIN_PAYING_VISITORS = 30
# A share of visitors below this is that of nobody.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """Effects and what follows from them.

    `alpha` is what a p value is held against, and `interval_levels` are those of the intervals. `status`
    holds a VariantStatus a cell, `gain` the difference with the sign turned where less is better,
    `confidence` 1 - p, and `score` what the experiment's method is judged on. `lead[g]` is the column of
    the goal's best winner or, without one, of the best challenger; -1 if there is none. `control` is a
    column, too.
    """

    control: int | None
    alpha: float
    interval_levels: FloatArray
    effects: Effects
    gain: FloatArray
    confidence: FloatArray
    score: FloatArray
    status: npt.NDArray[np.str_]
    lead: IntArray


def assess_significance(experiment: Experiment, evidence: Evidence) -> Significance:
    """Compare every variant with the control on every goal, and say who wins."""
    alpha = decision_alpha(experiment)
    is_bayesian = experiment.analysis_method == "bayesian"
    control = control_column(experiment)
    each = effective_alpha(experiment.confidence_level, len(experiment.variants))
    effects, levels = correct(experiment, evidence, effects_of(experiment, evidence, each))
    wanted = wanted_directions(experiment)
    # E[max(d, 0)] = E[max(-d, 0)] + E[d], all of one posterior.
    effects.loss[:] = np.where(wanted < 0, np.maximum(effects.loss + effects.expected, 0.0), effects.loss)
    effects.chance[:] = np.where(wanted < 0, 1.0 - effects.chance, effects.chance)
    gain = wanted * effects.difference
    confidence = -np.expm1(effects.log_p)
    if is_bayesian:
        better, worse = effects.chance >= 1.0 - alpha, effects.chance <= alpha
    else:
        significant = effects.log_p <= np.log(alpha)
        better, worse = significant & (gain > 0), significant & (gain < 0)
    enough = _has_enough(experiment, evidence, control)
    if experiment.statistics.sequential != "none" or evidence.epochs is not None:
        enough &= ~np.isnan(effects.log_p)
    lead = _lead(gain, better & enough, enough)
    return Significance(
        control=control,
        alpha=alpha,
        # A Bayesian verdict looks to one side, so its interval leaves out alpha on each: they never disagree.
        interval_levels=1.0 - (2.0 * levels if is_bayesian else levels),
        effects=effects,
        gain=gain,
        confidence=confidence,
        score=effects.chance if is_bayesian else confidence,
        status=_status(control, better=better, worse=worse, enough=enough),
        lead=lead,
    )


def _has_enough(experiment: Experiment, evidence: Evidence, control: int | None) -> BoolArray:
    """Where both arms have the visitors, and together the conversions, that a verdict needs."""
    if control is None:
        return np.zeros(evidence.conversions.shape, bool)
    return has_enough(evidence.visitors, evidence.conversions, uses_mean_test(experiment, evidence), control)


def has_enough(visitors: IntArray, conversions: IntArray, by_mean: BoolArray, control: int) -> BoolArray:
    """The same of any number of segments: `visitors` (…, V), `conversions` (…, G, V), `by_mean` (G)."""
    together = conversions + conversions[..., [control]]
    fewest = np.minimum(visitors, visitors[..., [control]])[..., None, :]
    enough: BoolArray = together >= conversions_needed(visitors, by_mean, control)
    return enough & (fewest >= MIN_VISITORS)


def uses_mean_test(experiment: Experiment, evidence: Evidence) -> BoolArray:
    """Which goals have no exact test to fall back on: those of money, and of epochs all."""
    return np.asarray(is_revenue(experiment) | (evidence.epochs is not None))


def conversions_needed(visitors: IntArray, by_mean: BoolArray, control: int) -> IntArray:
    """How many conversions a variant and the control need together, (…, G, V): more of means, if unequal."""
    by_means = np.floor(MIN_PAYING_VISITORS * imbalance_factor(visitors, control))
    needed: IntArray = np.where(by_mean[:, None], by_means[..., None, :], MIN_CONVERSIONS).astype(np.int64)
    return needed


def imbalance_factor(visitors: IntArray, control: int) -> FloatArray:
    """How many times the conversions of two equal arms a mean needs in arms of unequal size, (…, V).

    Two equal arms are unequally lucky alike, and what is skewed in each cancels. With a share s of the
    visitors in one of them the skewness of their difference is that of N values times
    (1 - 2s) / sqrt(N s (1 - s)), so it is 1 + (1 - 2s)² / (s (1 - s)).
    """
    of_both = np.maximum(visitors + visitors[..., [control]], 1)
    share = np.clip(visitors / of_both, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    times: FloatArray = 1.0 / (share * (1.0 - share)) - 3.0
    return times * (1.0 + 1e-12)


def _lead(gain: FloatArray, winners: BoolArray, enough: BoolArray) -> IntArray:
    """The best winner; without any the best variant that can be judged; without any the best there is."""
    known = ~np.isnan(gain)
    if not known.any():
        return np.full(len(gain), -1)
    rank = np.where(winners, 2, np.where(enough, 1, 0))
    first = known & (rank == np.where(known, rank, -1).max(axis=1, keepdims=True))
    return np.where(known.any(axis=1), np.where(first, gain, -np.inf).argmax(axis=1), -1)


def _status(
    control: int | None,
    *,
    better: BoolArray,
    worse: BoolArray,
    enough: BoolArray,
) -> npt.NDArray[np.str_]:
    status = np.select([~enough, better, worse], ["insufficient_data", "winner", "loser"], "inconclusive")
    if control is not None:
        status[:, control] = "control"
    return status


def wins_at_any_look(experiment: Experiment, evidence: Evidence) -> BoolArray:
    """Where a variant's win holds however often one looked, goals by variants."""
    sequence = monitor(experiment, evidence)
    if sequence is None:
        return np.zeros(evidence.conversions.shape, bool)
    return wins_always_valid(sequence, wanted=wanted_directions(experiment))


def discoveries(experiment: Experiment, judgement: Significance) -> BoolArray:
    """Where a difference is one, goals by variants: the primary goal by itself, the others among themselves.

    Of the secondary goals of a frequentist experiment that are called different, at most the level's share
    is so by chance (`prefer_primary`). A posterior does not change with the number of questions.
    """
    log_p = judgement.effects.log_p
    if experiment.analysis_method == "bayesian":
        return np.ones(log_p.shape, bool)
    is_primary = np.array([goal.is_primary for goal in experiment.goals], bool)
    found: BoolArray = prefer_primary(log_p, is_primary, axis=0) <= np.log(judgement.alpha)
    return found


def of_leads(judgement: Significance, claims: BoolArray) -> list[bool]:
    """What is claimed of each goal's lead; False where nobody leads."""
    return [lead >= 0 and bool(claims[goal, lead]) for goal, lead in enumerate(judgement.lead.tolist())]
