"""Whether a bandit's weights should move now, and where to: without dice, so the same data move the same."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from engine.analysis.comparison.best_variant import chance_best, goal_by_epoch
from engine.analysis.comparison.metrics import is_revenue, primary_row, wanted_directions
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.checks import check_health
from engine.design.experiment import Experiment
from engine.stats.stratification import thompson_weights

# So many visitors a variant have to come between two moves: at the floor, a fifth of an even split, that is
# about a hundred of each, enough for an epoch to have a mean of its own.
VISITORS_PER_VARIANT = 500
# And so many of all there have been: less hardly changes what is known, and each epoch costs some precision.
LEAST_GROWTH = 0.05
# A move of less than a percentage point is not worth an epoch.
LEAST_MOVE = 0.01
# Weights are kept to the millionth, which is how finely assignment splits.
_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWeights:
    """New `weights` by variant, in order, and each one's `chance` to be the best (0 without weight)."""

    weights: tuple[float, ...]
    chance: tuple[float, ...]


def next_weights(experiment: Experiment, evidence: Evidence, *, now: datetime) -> NewWeights | None:
    """The weights that a running bandit should have from now on; None where they should stay.

    They stay without a primary goal, with a single variant that has weight, before enough visitors came
    under the present weights, while a health check gives the alarm, where nothing is known yet, and where
    they would hardly move. A variant whose weight is 0 was switched off and stays so.
    """
    goal = primary_row(experiment)
    weights = np.array([variant.weight for variant in experiment.variants], np.float64)
    arms = weights > 0
    steers = experiment.traffic_strategy == "bandit" and experiment.status == "running"
    if goal is None or not steers or arms.sum() < 2 or not _has_enough(evidence, int(arms.sum())):
        return None
    strata = goal_by_epoch(experiment, evidence, goal)[:, arms]
    money = bool(is_revenue(experiment)[goal])
    chance = chance_best(strata, money=money, wanted=float(wanted_directions(experiment)[goal, 0]))
    if np.isnan(chance).any():
        return None
    shares = thompson_weights(chance)
    if np.abs(shares - weights[arms] / weights.sum()).max() < LEAST_MOVE:
        return None
    if any(check.status == "alarm" for check in check_health(experiment, evidence, now)):
        return None
    moved, chances = np.zeros(len(weights)), np.zeros(len(weights))
    moved[arms], chances[arms] = np.round(shares, _DECIMALS), chance
    return NewWeights(weights=tuple(moved.tolist()), chance=tuple(chances.tolist()))


def _has_enough(evidence: Evidence, arms: int) -> bool:
    everyone = int(evidence.visitors.sum())
    lately = everyone if evidence.epochs is None else int(evidence.epochs.visitors[-1].sum())
    return lately >= max(VISITORS_PER_VARIANT * arms, LEAST_GROWTH * everyone)
