"""Partial pooling of families of effects: in closed form, or by sampling."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray
from engine.stats.bayesian.sampling import Sampling
from engine.stats.bayesian.shrinkage import Shrunk, shrink
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate

# Families of effects are shrunk so many effects at a time: each takes a grid of over a hundred numbers.
_AT_A_TIME = 20_000


@dataclass(frozen=True, slots=True)
class Families:
    """Effects, families along the first axis; of those flagged by `is_share` the `tables` behind them too.

    Tables are without visitors where an effect is not defined.
    """

    effects: Estimate
    tables: Tables
    is_share: BoolArray


@dataclass(frozen=True, slots=True)
class Pooled(ArrayRecord):
    """Posterior of each effect: mean, interval, and chance to be above 0; NaN where not defined."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray


# From families and alpha to posteriors.
Pool = Callable[[Families, float], Pooled]


def in_closed_form(families: Families, alpha: float) -> Pooled:
    """Pool by `shrinkage.shrink`, on a scale of approximately normal effects."""
    return Pooled.concatenate([_pooled(shrink(block, alpha=alpha)) for block in _blocks(families.effects)])


def by_sampling(sampling: Sampling) -> Pool:
    """Return a `Pool` by the models of `hierarchical`: exact for few conversions, and takes a minute.

    The pool raises NotConvergedError where the chains did not converge, and MissingSamplerError without PyMC.
    """

    def pool(families: Families, alpha: float) -> Pooled:
        from engine.stats.bayesian.hierarchical import sample_effects, sample_shares  # noqa: PLC0415  # rarely used

        found = Pooled.full(families.effects.value.shape, np.nan)
        shares, others = families.is_share, ~families.is_share
        if shares.any():
            sampled = sample_shares(families.tables[shares], alpha=alpha, sampling=sampling)
            found[shares] = _pooled(sampled.effects)
        if others.any():
            sampled = sample_effects(families.effects[others], alpha=alpha, sampling=sampling)
            found[others] = _pooled(sampled.effects)
        return found

    return pool


def _pooled(shrunk: Shrunk) -> Pooled:
    return Pooled(shrunk.mean, shrunk.low, shrunk.high, shrunk.chance)


def _blocks(families: Estimate) -> Iterator[Estimate]:
    count, size = families.value.shape
    step = max(_AT_A_TIME // size, 1)
    for first in range(0, count, step):
        yield families[first : first + step]
