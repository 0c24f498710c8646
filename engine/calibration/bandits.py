"""Simulated bandits, whose weights follow what was seen while the base rate changes."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import (
    Method,
    MethodOutcome,
    read_arms,
    read_pair,
)
from engine.calibration.trials import Setting, lifts_of_last
from engine.simulation.bandits import simulate_bandits
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.stratification import stratify

EPOCHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandit:
    """A conversion rate that is `rate` on average and three times as high in the last epoch as in the first.

    `visitors` is how many each arm would get, were they split evenly.
    """

    rate: float
    visitors: int
    arms: int = 2
    metric = "conversion, moving weights"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"bandit, {self.arms} arms"

    @property
    def detectable(self) -> float:
        """The lift that an even split would find four times in five."""
        return Setting(rate=self.rate, visitors=self.visitors, arms=self.arms).detectable

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Steering":
        """Run it `runs` times; the last arm has the lift."""
        factors = np.ones(self.arms)
        factors[-1] += lift
        run = simulate_bandits(
            self.rate * np.linspace(0.5, 1.5, EPOCHS)[:, None] * factors,
            per_epoch=self.visitors * self.arms // EPOCHS,
            experiments=runs,
            seed=int(rng.integers(2**32)),
        )
        return Steering(case=self, lift=lift, moments=run.moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """Moments of conversions: epochs by runs by arms."""

    case: Bandit
    lift: float
    moments: Moments

    @property
    def lifts(self) -> FloatArray:
        """The true lift of each comparison with the control."""
        return lifts_of_last(self.case.arms, self.lift)


def _is_bandit(case: object) -> bool:
    return isinstance(case, Bandit)


def _stratified(sample: Steering) -> MethodOutcome:
    variants = sample.moments[..., 1:]
    found = stratify(sample.moments[..., :1].broadcast_to(variants.n.shape), variants)
    return read_pair(found.control, found.variant, mean=sample.case.rate)


def _pooled(sample: Steering) -> MethodOutcome:
    return read_arms(Estimate.of(sample.moments.sum_over(0)), mean=sample.case.rate)


METHODS: tuple[Method, ...] = (
    Method(name="within epochs", read=_stratified, fits=_is_bandit),
    Method(name="pooled over epochs", read=_pooled, fits=_is_bandit, is_safe=False),
)
