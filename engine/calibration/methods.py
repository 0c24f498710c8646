"""How each method reads a trial: what it calls, at which look, and which lifts it holds possible."""

from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from engine.analysis.comparison.corrections import adjust_dunnett, holm_levels
from engine.analysis.comparison.significance_level import effective_alpha
from engine.calibration import (
    amounts,
    bandits,
    guardrails,
    lift_priors,
    returning_visitors,
    sample_ratio,
    segments,
)
from engine.calibration.method import (
    FAMILY,
    Method,
    MethodOutcome,
    read_test,
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


def _is_share(case: object) -> bool:
    return isinstance(case, Setting) and case.orders is None


def _is_revenue(case: object) -> bool:
    return isinstance(case, Setting) and case.orders is not None


def _has_several(case: object) -> bool:
    return isinstance(case, Setting) and case.arms > 2


def _alpha(trials: Trials) -> float:
    return effective_alpha(LEVEL, trials.setting.arms)


def _compare(trials: Trials, alpha: npt.ArrayLike) -> Comparison:
    """The fixed-horizon test of the trials' metric, at each of their looks."""
    if trials.setting.orders is None:
        return compare_shares(trials.tables, alpha)
    return compare_means(*trials.estimates, alpha)


def _once(trials: Trials) -> MethodOutcome:
    return _naive_peeking(trials.at_the_end())


def _naive_peeking(trials: Trials) -> MethodOutcome:
    alpha = _alpha(trials)
    return read_test(_compare(trials, alpha), alpha, trials.seen)


def _bayesian(trials: Trials) -> MethodOutcome:
    end, alpha = trials.at_the_end(), _alpha(trials)
    if trials.setting.orders is None:
        chance = posteriors.compare_shares(end.tables).chance
        low, high = posteriors.share_lift(end.tables, alpha)
    else:
        chance = posteriors.compare_means(*end.estimates).chance
        low, high = posteriors.mean_lift(*end.estimates, alpha)
    return MethodOutcome((chance >= 1.0 - alpha).astype(np.int64) - (chance <= alpha), low, high, end.seen)


def _watched(trials: Trials, *, ends_as_planned: bool) -> MethodOutcome:
    rarer = trials.converted
    if trials.setting.orders is None:
        rarer = np.minimum(rarer, trials.moments.n - rarer)
    planned = 2.0 * trials.moments.n[0, -1, 0]
    sequence = confidence_sequence(
        *trials.estimates,
        fewest_conversions=np.minimum(rarer[..., 1:], rarer[..., :1]),
        alpha=_alpha(trials),
        planned=planned,
        ends_as_planned=ends_as_planned,
    )
    called = wins_always_valid(sequence).astype(np.int64) - wins_always_valid(sequence, wanted=-1)
    return MethodOutcome(called, sequence.lift_low, sequence.lift_high, trials.seen)


def _group_sequential(trials: Trials) -> MethodOutcome:
    critical = _boundary(_alpha(trials))[:, None]
    control, variant = trials.estimates
    z = variant.minus(control).z
    called = np.where(np.abs(np.nan_to_num(z)) > critical, np.sign(z), 0.0).astype(np.int64)
    limit = np.broadcast_to(critical, z.shape)
    low, high = fieller(control.value, control.variance, variant.value, variant.variance, limit)
    return MethodOutcome(called, low, high, trials.seen)


@lru_cache
def _boundary(alpha: float) -> FloatArray:
    """Critical values of all daily looks: the same for every trial, and slow to solve."""
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
    """Verdicts by p values that know of one another, and intervals at the levels that belong to them."""
    called = np.where(log_p <= np.log(FAMILY), np.sign(plain.statistic), 0.0).astype(np.int64)
    found = _compare(trials, levels)
    return MethodOutcome(called, found.low, found.high, trials.seen)


DAILY: tuple[Method, ...] = (
    Method(name="score z or Fisher", read=_once, fits=_is_share),
    Method(name="Welch", read=_once, fits=_is_revenue),
    # A step's level is not meant to hold all intervals at once.
    Method(name="Holm", read=_holm, fits=_has_several, intervals="all", promises_coverage=False),
    Method(name="Dunnett", read=_dunnett, fits=_has_several, intervals="all"),
    # A verdict looks to one side: it may err at the level on either.
    Method(name="Bayesian", read=_bayesian, errs=2.0 * FAMILY),
    Method(name="always valid", read=partial(_watched, ends_as_planned=False)),
    Method(name="ends as planned", read=partial(_watched, ends_as_planned=True)),
    Method(name="group sequential", read=_group_sequential),
    Method(name="naive peeking", read=_naive_peeking, is_safe=False),
)
METHODS: tuple[Method, ...] = (
    *DAILY,
    *returning_visitors.METHODS,
    *amounts.METHODS,
    *lift_priors.METHODS,
    *bandits.METHODS,
    *guardrails.METHODS,
    *segments.METHODS,
    *sample_ratio.METHODS,
)
