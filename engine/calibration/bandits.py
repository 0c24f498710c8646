"""Bandits: calibration under adaptive weights and a base rate that changes."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import (
    Method,
    MethodOutcome,
    cases_of,
    outcome_of_estimates,
    outcome_of_means,
)
from engine.calibration.trials import Setting, lifts_of_last
from engine.simulation.bandits import simulate_bandits
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.stratification import stratify

EPOCHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditCase:
    """A bandit whose base rate is `rate` on average and triples from the first epoch to the last.

    `visitors` is the number per arm of an even split.
    """

    rate: float
    visitors: int
    arms: int = 2
    metric = "conversion, moving weights"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"bandit, {self.arms} arms"

    @property
    def detectable(self) -> float:
        """The lift that an even split detects with 80% power."""
        return Setting(rate=self.rate, visitors=self.visitors, arms=self.arms).detectable

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "BanditSample":
        """Simulate `runs` experiments; the last arm has the lift."""
        factors = np.ones(self.arms)
        factors[-1] += lift
        run = simulate_bandits(
            self.rate * np.linspace(0.5, 1.5, EPOCHS)[:, None] * factors,
            per_epoch=self.visitors * self.arms // EPOCHS,
            experiments=runs,
            seed=int(rng.integers(2**32)),
        )
        return BanditSample(case=self, lift=lift, moments=run.moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditSample:
    """Moments of conversions: epochs by runs by arms."""

    case: BanditCase
    lift: float
    moments: Moments

    @property
    def lifts(self) -> FloatArray:
        """True lift of each comparison with the control."""
        return lifts_of_last(self.case.arms, self.lift)


def _stratified(sample: BanditSample) -> MethodOutcome:
    variants = sample.moments[..., 1:]
    found = stratify(sample.moments[..., :1].broadcast_to(variants.n.shape), variants)
    skewness = found.cumulants.skewness()
    return outcome_of_estimates(found.control, found.variant, mean=sample.case.rate, skewness=skewness)


def _pooled(sample: BanditSample) -> MethodOutcome:
    return outcome_of_means(sample.moments.sum_over(0), mean=sample.case.rate)


METHODS: tuple[Method, ...] = (
    Method(name="stratified by epoch", run=_stratified, applies_to=cases_of(BanditCase)),
    Method(name="pooled over epochs", run=_pooled, applies_to=cases_of(BanditCase), is_safe=False),
)
