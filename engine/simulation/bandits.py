"""Simulated bandits: many experiments at once, with weights that follow the results."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from engine.analysis.comparison.best_variant import chance_best
from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.stratification import thompson_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedBandits:
    """Results of E epochs, R experiments and V arms. `weights` are shares, adding up to 1 over arms."""

    weights: FloatArray
    visitors: FloatArray
    conversions: FloatArray

    @property
    def moments(self) -> Moments:
        """Moments of conversions per visitor by epoch."""
        return Moments.of_shares(self.conversions, self.visitors)


def evidence_of(run: SimulatedBandits, number: int, *, started_at: datetime, every: timedelta) -> Evidence:
    """Build the evidence of one of the experiments; weights changed `every` so long."""
    visitors, conversions = (counts[:, number].astype(np.int64) for counts in (run.visitors, run.conversions))
    hits = conversions[:, None, :]
    zero = np.zeros(hits.shape)
    n = np.broadcast_to(visitors[:, None, :].astype(np.float64), hits.shape)
    money, none = Moments(n, zero, zero), np.zeros((0, *hits.shape[1:]), np.int64)
    return Evidence(
        visitors=visitors.sum(axis=0),
        conversions=hits.sum(axis=0),
        revenue=money.sum_over(0),
        daily=DailyEvidence(days=(), visitors=none[:, 0], conversions=none, revenue_cents=none),
        epochs=EpochEvidence(
            started_at=tuple(started_at + epoch * every for epoch in range(len(visitors))),
            weights=run.weights[:, number],
            visitors=visitors,
            settled=visitors,
            conversions=hits,
            revenue=money,
            values=money,
        ),
    )


def simulate_bandits(
    rates: FloatArray, *, per_epoch: int, experiments: int, seed: int, moves: bool = True
) -> SimulatedBandits:
    """Simulate experiments of `rates` (epochs by arms, shares) with `per_epoch` visitors an epoch.

    The first epoch is split evenly. With `moves`, each further one by the weights that the service would
    set after those before it: the chance to be best from stratified estimates, over the floor.
    """
    rng = np.random.default_rng(seed)
    epochs, arms = rates.shape
    weights = np.full((epochs, experiments, arms), 1.0 / arms)
    visitors, conversions = np.zeros(weights.shape), np.zeros(weights.shape)
    for epoch in range(epochs):
        if moves and epoch > 0:
            seen = Moments.of_shares(conversions[:epoch], visitors[:epoch])
            weights[epoch] = thompson_weights(chance_best(seen, money=False))
        visitors[epoch] = rng.multinomial(per_epoch, weights[epoch])
        conversions[epoch] = rng.binomial(visitors[epoch].astype(np.int64), rates[epoch])
    return SimulatedBandits(weights=weights, visitors=visitors, conversions=conversions)
