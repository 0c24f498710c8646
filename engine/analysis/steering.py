"""Whether a bandit's weights should move now, and where to: without dice, so the same data move the same."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from engine.analysis.bandit import stratify_arms, thompson_weights
from engine.analysis.best_arm import best_of_means, best_of_shares
from engine.analysis.evidence import Evidence
from engine.analysis.health import check_health
from engine.analysis.metrics import is_revenue, primary_row, wanted_directions
from engine.analysis.moments import FloatArray, Moments
from engine.design.experiment import Experiment

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
class Move:
    """New `weights` by variant, in order, and each one's `chance` to be the best (0 without weight)."""

    weights: tuple[float, ...]
    chance: tuple[float, ...]


def next_move(experiment: Experiment, evidence: Evidence, *, now: datetime) -> Move | None:
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
    return Move(weights=tuple(moved.tolist()), chance=tuple(chances.tolist()))


def chance_best(strata: Moments, *, money: bool, wanted: float = 1.0) -> FloatArray:
    """Each arm's chance to be best, from moments by epoch (first axis) and arm (last).

    Shares have the Beta posterior of a plain sample of their effective size, from a flat prior; money per
    visitor a normal one. `wanted` is -1 where less is better. An arm of which nothing varies yet, as where
    nobody bought, is as uncertain as all arms are together; NaN where nothing varies at all.
    """
    arms, size = stratify_arms(strata)
    value = np.where(arms.defined, arms.value, 0.0)
    if not money:
        hits = np.clip(value, 0.0, 1.0) * size
        return best_of_shares(hits if wanted > 0 else size - hits, size).chance
    everyone = strata.sum_over(0)
    spread = everyone.m2.sum(axis=-1, keepdims=True) / np.maximum(
        everyone.n.sum(axis=-1, keepdims=True) - 1.0, 1.0
    )
    together = np.divide(spread, size, out=np.full(size.shape, np.nan), where=size > 0)
    variance = np.where(arms.variance > 0, arms.variance, together)
    return best_of_means(wanted * value, np.where(variance > 0, variance, np.nan)).chance


def goal_by_epoch(experiment: Experiment, evidence: Evidence, goal: int) -> Moments:
    """Moments per visitor of one goal's metric, epochs by variants; one epoch where nothing ever moved."""
    epochs = evidence.epochs
    if is_revenue(experiment)[goal]:
        return evidence.revenue[goal][None] if epochs is None else epochs.revenue[:, goal]
    if epochs is None:
        return Moments.of_shares(evidence.conversions[goal][None], evidence.visitors[None])
    return Moments.of_shares(epochs.conversions[:, goal], epochs.visitors)


def _has_enough(evidence: Evidence, arms: int) -> bool:
    everyone = int(evidence.visitors.sum())
    lately = everyone if evidence.epochs is None else int(evidence.epochs.visitors[-1].sum())
    return lately >= max(VISITORS_PER_VARIANT * arms, LEAST_GROWTH * everyone)
