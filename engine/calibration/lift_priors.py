"""Simulated tests that are read with a prior: lifts are drawn from that of the lift, or all the same."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.bayesian import posteriors
from engine.stats.bayesian.priors import prior_of_past, update_lift
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftPriorCase:
    """A conversion rate under a prior: lifts are normal around 0 with this `deviation`.

    That is how lifts are `drawn`, or else each is one deviation.
    """

    rate: float
    visitors: int
    deviation: float
    drawn: bool
    arms: int = 2
    metric = "conversion under a prior"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return "prior, lifts from it" if self.drawn else "prior, one lift"

    @property
    def detectable(self) -> float:
        """The deviation of lifts that are drawn, or the one lift."""
        return self.deviation

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Believing":
        """Run it `runs` times; where lifts are drawn, `lift` is their deviation."""
        lifts = lift * (rng.standard_normal(runs) if self.drawn else np.ones(runs))
        rates = self.rate * np.stack([np.ones(runs), 1.0 + lifts], axis=1)
        hits = rng.binomial(self.visitors, np.clip(rates, 0.0, 1.0))
        past = rng.binomial(self.visitors, self.rate, runs)
        moments = Moments.of_shares(hits, self.visitors)
        return Believing(case=self, lift=lift, lifts=lifts[:, None, None], moments=moments, past=past)


@dataclass(frozen=True, slots=True, kw_only=True)
class Believing:
    """Conversions, runs by arms, and the true lift of each run.

    `past` is how many converted before the experiment, of as many visitors as an arm has in it.
    """

    case: LiftPriorCase
    lift: float
    lifts: FloatArray
    moments: Moments
    past: IntArray


def _is_drawn(case: object) -> bool:
    return isinstance(case, LiftPriorCase) and case.drawn


def _is_fixed(case: object) -> bool:
    return isinstance(case, LiftPriorCase) and not case.drawn


def _read(sample: Believing) -> MethodOutcome:
    arms = Estimate.of(sample.moments)
    found = update_lift(
        arms[:, None, :1],
        arms[:, None, 1:],
        prior_mean=0.0,
        prior_deviation=sample.case.deviation,
        # A verdict looks to one side, so the interval leaves out the level on each.
        alpha=2.0 * FAMILY,
    )
    return MethodOutcome(_verdict(found.chance), found.low, found.high, found.mean)


def _read_with_past(sample: Believing) -> MethodOutcome:
    """By Beta posteriors whose prior is of the time before."""
    n, hits = sample.moments.n[:, None], sample.moments.total[:, None]
    tables = Tables.of(hits[..., :1], n[..., :1], hits[..., 1:], n[..., 1:])
    shapes = np.array([prior_of_past(float(each), float(sample.case.visitors)) for each in sample.past])
    prior = shapes[:, 0, None, None], shapes[:, 1, None, None]
    low, high = posteriors.share_lift(tables, FAMILY, prior)
    seen = (tables.share - tables.control_share) / sample.case.rate
    return MethodOutcome(_verdict(posteriors.compare_shares(tables, prior).chance), low, high, seen)


def _verdict(chance: FloatArray) -> IntArray:
    return (chance >= 1.0 - FAMILY).astype(np.int64) - (chance <= FAMILY)


METHODS: tuple[Method, ...] = (
    Method(name="prior on the lift", read=_read, fits=_is_drawn, errs=2.0 * FAMILY),
    # Over the prior intervals hold as often as they say. Over one lift they do not, and are not meant to.
    Method(name="prior on the lift", read=_read, fits=_is_fixed, errs=2.0 * FAMILY, promises_coverage=False),
    Method(name="prior of past rates", read=_read_with_past, fits=_is_fixed, errs=2.0 * FAMILY),
)
