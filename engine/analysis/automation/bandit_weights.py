"""Next weights of a bandit, by Thompson sampling in closed form: the same data give the same weights."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.best_variant import chance_best
from engine.analysis.comparison.stratified import moments_by_epoch
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.checks import check_health
from engine.design.experiment import Experiment
from engine.stats.stratification import thompson_weights

# So many visitors a variant have to come between two changes: at the floor, a fifth of an even split, that
# is about a hundred of each, enough for an epoch to have a mean of its own.
VISITORS_PER_VARIANT = 500
# And this share of all visitors so far: fewer hardly change the estimates, and each epoch costs precision.
LEAST_GROWTH = 0.05
# A change of less than a percentage point is not worth an epoch.
LEAST_CHANGE = 0.01
# Weights are kept to the millionth, which is how finely assignment splits.
_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWeights:
    """New `weights` by variant, in order, and each one's `chance` to be the best (0 without weight)."""

    weights: tuple[float, ...]
    chance: tuple[float, ...]


def next_weights(experiment: Experiment, evidence: Evidence, *, now: datetime) -> NewWeights | None:
    """Compute the next weights of a running bandit; None where the present ones should stay.

    They stay without a primary goal, with a single variant that has weight, before enough visitors came
    under the present weights, while a health check is in alarm, without any estimate yet, and where
    they would hardly change. A variant whose weight is 0 was switched off and stays so.
    """
    if experiment.traffic_strategy != "bandit" or experiment.status != "running":
        return None
    data = prepare(experiment, evidence)
    plan, arms = data.plan, data.plan.weights > 0
    if plan.primary is None or arms.sum() < 2 or not _has_enough_visitors(evidence, int(arms.sum())):
        return None
    strata = moments_by_epoch(plan, evidence)[:, plan.primary][:, arms]
    is_mean, wanted = bool(plan.is_mean[plan.primary]), float(plan.wanted[plan.primary, 0])
    chance = chance_best(strata, money=is_mean, wanted=wanted)
    if np.isnan(chance).any():
        return None
    shares = thompson_weights(chance)
    if np.abs(shares - plan.shares[arms]).max() < LEAST_CHANGE:
        return None
    if any(check.status == "alarm" for check in check_health(data, now)):
        return None
    weights, chances = np.zeros(len(arms)), np.zeros(len(arms))
    weights[arms], chances[arms] = np.round(shares, _DECIMALS), chance
    return NewWeights(weights=tuple(weights.tolist()), chance=tuple(chances.tolist()))


def _has_enough_visitors(evidence: Evidence, arms: int) -> bool:
    everyone = int(evidence.visitors.sum())
    latest = everyone if evidence.epochs is None else int(evidence.epochs.visitors[-1].sum())
    return latest >= max(VISITORS_PER_VARIANT * arms, LEAST_GROWTH * everyone)
