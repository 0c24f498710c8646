"""METHODS: every method under calibration, with its verdicts and intervals on simulated trials."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.corrections import adjust_dunnett, holm_levels
from engine.analysis.comparison.significance_level import effective_alpha
from engine.calibration import (
    amounts,
    bandits,
    guardrails,
    lift_priors,
    measures,
    returning_visitors,
    sample_ratio,
    segments,
    several_covariates,
)
from engine.calibration.method import (
    FAMILY,
    Method,
    MethodOutcome,
    cases_of,
    outcome_of_test,
)
from engine.calibration.trials import DAYS, LEVEL, Setting, Trials
from engine.stats.arrays import FloatArray
from engine.stats.bayesian import posteriors
from engine.stats.frequentist.dunnett import shared_noise
from engine.stats.frequentist.multiple_testing import holm
from engine.stats.frequentist.two_sample import (
    Comparison,
    compare_means,
    compare_shares,
    fieller,
)
from engine.stats.sequential.confidence_sequence import confidence_sequence, wins_always_valid
from engine.stats.sequential.group_sequential import obrien_fleming


def _has_several(case: object) -> bool:
    return isinstance(case, Setting) and case.arms > 2


def _alpha(trials: Trials) -> float:
    return effective_alpha(LEVEL, trials.setting.arms)


def _compare(trials: Trials, alpha: npt.ArrayLike) -> Comparison:
    """Run the fixed-horizon test of the trials' metric at each of their looks."""
    if trials.setting.orders is None:
        return compare_shares(trials.tables, alpha)
    return compare_means(*trials.estimates, alpha, trials.skewness)


def _single_look(trials: Trials) -> MethodOutcome:
    return _uncorrected_peeking(trials.at_the_end())


def _uncorrected_peeking(trials: Trials) -> MethodOutcome:
    alpha = _alpha(trials)
    return outcome_of_test(_compare(trials, alpha), alpha, trials.observed_lift)


def _one_sided(trials: Trials) -> MethodOutcome:
    end, alpha = trials.at_the_end(), 2.0 * _alpha(trials)
    return outcome_of_test(_compare(end, alpha), alpha, end.observed_lift)


def _bayesian(trials: Trials) -> MethodOutcome:
    end, alpha = trials.at_the_end(), _alpha(trials)
    if trials.setting.orders is None:
        chance = posteriors.compare_shares(end.tables).chance
        low, high = posteriors.share_lift(end.tables, alpha)
    else:
        chance = posteriors.compare_means(*end.estimates).chance
        low, high = posteriors.mean_lift(*end.estimates, alpha)
    verdict = (chance >= 1.0 - alpha).astype(np.int64) - (chance <= alpha)
    return MethodOutcome(verdict, low, high, end.observed_lift)


def _always_valid(trials: Trials) -> MethodOutcome:
    fewest = trials.converted
    if trials.setting.orders is None:
        fewest = np.minimum(fewest, trials.moments.n - fewest)
    planned = 2.0 * trials.moments.n[0, -1, 0]
    sequence = confidence_sequence(
        *trials.estimates,
        fewest_conversions=np.minimum(fewest[..., 1:], fewest[..., :1]),
        alpha=_alpha(trials),
        planned=planned,
    )
    verdict = wins_always_valid(sequence).astype(np.int64) - wins_always_valid(sequence, wanted=-1)
    return MethodOutcome(verdict, sequence.lift_low, sequence.lift_high, trials.observed_lift)


def _group_sequential(trials: Trials) -> MethodOutcome:
    critical = _boundary(_alpha(trials))[:, None]
    control, variant = trials.estimates
    z = variant.minus(control).z
    verdict = np.where(np.abs(np.nan_to_num(z)) > critical, np.sign(z), 0.0).astype(np.int64)
    limit = np.broadcast_to(critical, z.shape)
    low, high = fieller(control.value, control.variance, variant.value, variant.variance, limit)
    return MethodOutcome(verdict, low, high, trials.observed_lift)


@lru_cache
def _boundary(alpha: float) -> FloatArray:
    """Critical values of all daily looks; cached, as they are slow to solve and equal for every trial."""
    return obrien_fleming(np.arange(1, DAYS + 1) / DAYS, alpha)


def _holm(trials: Trials) -> MethodOutcome:
    end = trials.at_the_end()
    plain = _compare(end, FAMILY)
    return _adjusted(end, plain, holm(plain.log_p), holm_levels(plain.log_p, FAMILY))


def _dunnett(trials: Trials) -> MethodOutcome:
    end = trials.at_the_end()
    control, variant = end.estimates
    plain = _compare(end, FAMILY)
    shared = shared_noise(control.variance[..., 0], variant.variance)
    log_p, levels = adjust_dunnett(plain.log_p, shared, FAMILY)
    return _adjusted(end, plain, log_p, levels)


def _adjusted(trials: Trials, plain: Comparison, log_p: FloatArray, levels: FloatArray) -> MethodOutcome:
    """Take verdicts from adjusted p values, and intervals at the matching levels."""
    verdict = np.where(log_p <= np.log(FAMILY), np.sign(plain.statistic), 0.0).astype(np.int64)
    found = _compare(trials, levels)
    return MethodOutcome(verdict, found.low, found.high, trials.observed_lift)


DAILY: tuple[Method, ...] = (
    Method(
        name="score test or Fisher",
        run=_single_look,
        applies_to=cases_of(Setting, lambda case: case.orders is None),
    ),
    Method(
        name="Welch", run=_single_look, applies_to=cases_of(Setting, lambda case: case.orders is not None)
    ),
    # Step-down levels give no simultaneous intervals.
    Method(name="Holm", run=_holm, applies_to=_has_several, intervals="all", promises_coverage=False),
    Method(name="Dunnett", run=_dunnett, applies_to=_has_several, intervals="all"),
    # One-sided verdicts, and Bayesian ones, may err at the level on either side.
    Method(name="one-sided", run=_one_sided, error_rate=2.0 * FAMILY),
    Method(name="Bayesian", run=_bayesian, error_rate=2.0 * FAMILY),
    Method(name="always valid", run=_always_valid),
    Method(name="group sequential", run=_group_sequential),
    Method(name="naive peeking", run=_uncorrected_peeking, is_safe=False),
)
METHODS: tuple[Method, ...] = (
    *DAILY,
    *returning_visitors.METHODS,
    *amounts.METHODS,
    *measures.METHODS,
    *several_covariates.METHODS,
    *lift_priors.METHODS,
    *bandits.METHODS,
    *guardrails.METHODS,
    *segments.METHODS,
    *sample_ratio.METHODS,
)
