"""How each method reads a trial: what it calls, at which look, and which lifts it holds possible."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.analysis import bayesian
from engine.analysis.comparisons import holm
from engine.analysis.dunnett import log_p_dunnett, shared_noise
from engine.analysis.frequentist import Comparison, compare_means, compare_shares, fieller, score_z
from engine.analysis.moments import FloatArray
from engine.analysis.multiplicity import effective_alpha
from engine.analysis.sequential import confidence_sequence, wins_always_valid
from engine.calibration.trials import DAYS, LEVEL, Trials
from engine.design.group_boundaries import obrien_fleming

FAMILY = (100 - LEVEL) / 100


@dataclass(frozen=True, slots=True)
class Reading:
    """What a method says at each look it takes: runs by looks by comparisons.

    `called` is 1 for a winner, -1 for a loser and 0 else. The lift is said to lie in [`low`, `high`], which
    are NaN where nothing is said.
    """

    called: npt.NDArray[np.int64]
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to judge, and what it promises: how often an A/A test is called, and how often it covers.

    `covers` is of one comparison among `comparisons`, at all looks together. A method that `is_safe` keeps
    its promises; the one that is not is the warning. `revenue` says which metric it is for, None for both.
    """

    name: str
    read: Callable[[Trials], Reading]
    errs: float = FAMILY
    revenue: bool | None = None
    least_arms: int = 2
    is_safe: bool = True

    def fits(self, trials: Trials) -> bool:
        """Whether these trials are of its kind."""
        is_revenue = trials.setting.orders is not None
        return self.revenue in {None, is_revenue} and trials.setting.arms >= self.least_arms

    def covers(self, comparisons: int) -> float:
        """The share of intervals that should hold the truth."""
        return 1.0 - self.errs / comparisons


def _alpha(trials: Trials) -> float:
    return effective_alpha(LEVEL, trials.setting.arms)


def _compare(trials: Trials) -> Comparison:
    """The fixed-horizon test of the trials' metric, at each of their looks."""
    if trials.setting.orders is None:
        return compare_shares(trials.tables, _alpha(trials))
    return compare_means(*trials.estimates, _alpha(trials))


def _of_tests(comparison: Comparison, alpha: float) -> Reading:
    significant = comparison.log_p <= np.log(alpha)
    called = np.where(significant, np.sign(comparison.statistic), 0.0).astype(np.int64)
    return Reading(called, comparison.low, comparison.high)


def _once(trials: Trials) -> Reading:
    return _of_tests(_compare(trials.at_the_end()), _alpha(trials))


def _naive_peeking(trials: Trials) -> Reading:
    return _of_tests(_compare(trials), _alpha(trials))


def _bayesian(trials: Trials) -> Reading:
    end, alpha = trials.at_the_end(), _alpha(trials)
    if trials.setting.orders is None:
        chance = bayesian.compare_shares(end.tables).chance
        low, high = bayesian.share_lift(end.tables, alpha)
    else:
        chance = bayesian.compare_means(*end.estimates).chance
        low, high = bayesian.mean_lift(*end.estimates, alpha)
    return Reading((chance >= 1.0 - alpha).astype(np.int64) - (chance <= alpha), low, high)


def _always_valid(trials: Trials) -> Reading:
    rarer = trials.converted
    if trials.setting.orders is None:
        rarer = np.minimum(rarer, trials.moments.n - rarer)
    planned = 2.0 * trials.moments.n[0, -1, 0]
    sequence = confidence_sequence(
        *trials.estimates,
        fewest_conversions=np.minimum(rarer[..., 1:], rarer[..., :1]),
        alpha=_alpha(trials),
        planned=planned,
    )
    called = wins_always_valid(sequence).astype(np.int64) - wins_always_valid(sequence, wanted=-1)
    return Reading(called, sequence.lift_low, sequence.lift_high)


def _group_sequential(trials: Trials) -> Reading:
    critical = _boundary(_alpha(trials))[:, None]
    control, variant = trials.estimates
    z = variant.minus(control).z
    called = np.where(np.abs(np.nan_to_num(z)) > critical, np.sign(z), 0.0).astype(np.int64)
    limit = np.broadcast_to(critical, z.shape)
    return Reading(called, *fieller(control.value, control.variance, variant.value, variant.variance, limit))


@lru_cache
def _boundary(alpha: float) -> FloatArray:
    """Critical values of all daily looks: the same for every trial, and slow to solve."""
    return obrien_fleming(np.arange(1, DAYS + 1) / DAYS, alpha)


def _holm(trials: Trials) -> Reading:
    comparison = _compare(trials.at_the_end())
    return _adjusted(holm(comparison.log_p), comparison.statistic)


def _dunnett(trials: Trials) -> Reading:
    end = trials.at_the_end()
    control, variant = end.estimates
    z = score_z(end.tables) if end.setting.orders is None else variant.minus(control).z
    shared = shared_noise(control.variance[..., 0], variant.variance)
    return _adjusted(log_p_dunnett(z, shared), z)


def _adjusted(log_p: FloatArray, statistic: FloatArray) -> Reading:
    """Verdicts by p values that know of one another; intervals are not looked at."""
    called = np.where(log_p <= np.log(FAMILY), np.sign(statistic), 0.0).astype(np.int64)
    nothing = np.full(called.shape, np.nan)
    return Reading(called, nothing, nothing)


METHODS: tuple[Method, ...] = (
    Method(name="score z or Fisher", read=_once, revenue=False),
    Method(name="Welch", read=_once, revenue=True),
    Method(name="Holm", read=_holm, least_arms=3),
    Method(name="Dunnett", read=_dunnett, least_arms=3),
    # A verdict looks to one side: it may err at the level on either.
    Method(name="Bayesian", read=_bayesian, errs=2.0 * FAMILY),
    Method(name="always valid", read=_always_valid),
    Method(name="group sequential", read=_group_sequential),
    Method(name="naive peeking", read=_naive_peeking, is_safe=False),
)
