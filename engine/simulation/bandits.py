"""Simulated bandits: many experiments at once, with weights that follow the results."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.best_variant import chance_best
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
