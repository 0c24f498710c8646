"""Priors: calibration of Bayesian verdicts with lifts from the prior, or one fixed lift."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome, cases_of
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.bayesian import posteriors
from engine.stats.bayesian.priors import pre_period_prior, update_lift
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftPriorCase:
    """A conversion rate under a normal prior on the lift, with mean 0 and this `deviation`.

    Lifts are `drawn` from the prior, or are all equal to one deviation.
    """

    rate: float
    visitors: int
    deviation: float
    drawn: bool
    arms: int = 2
    metric = "conversion under a prior"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return "prior, lifts drawn" if self.drawn else "prior, fixed lift"

    @property
    def detectable(self) -> float:
        """The deviation of drawn lifts, or the fixed lift."""
        return self.deviation

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "LiftPriorSample":
        """Simulate `runs` experiments; where lifts are drawn, `lift` is their deviation."""
        lifts = lift * (rng.standard_normal(runs) if self.drawn else np.ones(runs))
        rates = self.rate * np.stack([np.ones(runs), 1.0 + lifts], axis=1)
        hits = rng.binomial(self.visitors, np.clip(rates, 0.0, 1.0))
        past = rng.binomial(self.visitors, self.rate, runs)
        moments = Moments.of_shares(hits, self.visitors)
        return LiftPriorSample(case=self, lift=lift, lifts=lifts[:, None, None], moments=moments, past=past)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftPriorSample:
    """Conversions, runs by arms, and the true lift of each run.

    `past` is the number of conversions before the experiment, of as many visitors as an arm has in it.
    """

    case: LiftPriorCase
    lift: float
    lifts: FloatArray
    moments: Moments
    past: IntArray


def _with_lift_prior(sample: LiftPriorSample) -> MethodOutcome:
    arms = Estimate.of(sample.moments)
    found = update_lift(
        arms[:, None, :1],
        arms[:, None, 1:],
        prior_mean=0.0,
        prior_deviation=sample.case.deviation,
        # The verdict is one-sided, so the interval leaves out the level on each side.
        alpha=2.0 * FAMILY,
    )
    return MethodOutcome(_verdict(found.chance), found.low, found.high, found.mean)


def _with_pre_period_prior(sample: LiftPriorSample) -> MethodOutcome:
    """Compare Beta posteriors under a prior from the pre-period."""
    n, hits = sample.moments.n[:, None], sample.moments.total[:, None]
    tables = Tables.of(hits[..., :1], n[..., :1], hits[..., 1:], n[..., 1:])
    shapes = np.array([pre_period_prior(float(each), float(sample.case.visitors)) for each in sample.past])
    prior = shapes[:, 0, None, None], shapes[:, 1, None, None]
    low, high = posteriors.share_lift(tables, FAMILY, prior)
    observed_lift = (tables.share - tables.control_share) / sample.case.rate
    return MethodOutcome(_verdict(posteriors.compare_shares(tables, prior).chance), low, high, observed_lift)


def _verdict(chance: FloatArray) -> IntArray:
    return (chance >= 1.0 - FAMILY).astype(np.int64) - (chance <= FAMILY)


METHODS: tuple[Method, ...] = (
    Method(
        name="prior on the lift",
        run=_with_lift_prior,
        applies_to=cases_of(LiftPriorCase, lambda case: case.drawn),
        error_rate=2.0 * FAMILY,
    ),
    # Credible intervals cover on average over the prior, not at any one lift.
    Method(
        name="prior on the lift",
        run=_with_lift_prior,
        applies_to=cases_of(LiftPriorCase, lambda case: not case.drawn),
        error_rate=2.0 * FAMILY,
        promises_coverage=False,
    ),
    Method(
        name="pre-period prior",
        run=_with_pre_period_prior,
        applies_to=cases_of(LiftPriorCase, lambda case: not case.drawn),
        error_rate=2.0 * FAMILY,
    ),
)
