"""Simulated guardrails: variants that are worse by exactly the margin, and others."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.noninferiority import judge_guardrail
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail:
    """A conversion rate that may fall by a share of `margin`. All lifts in here are counted from there.

    A variant without any effect is to be cleared, or else one that `harms` by twice the margin to be found.
    """

    rate: float
    visitors: int
    margin: float
    harms: bool
    arms: int = 2
    metric = "conversion above the margin"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"guardrail, {'harm' if self.harms else 'no harm'}"

    @property
    def detectable(self) -> float:
        """How far above the margin no effect is, or how far below it the harm."""
        return -self.margin if self.harms else self.margin

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Guarded":
        """Run it `runs` times; `lift` counts from the margin."""
        rates = self.rate * np.array([1.0, 1.0 - self.margin + lift])
        moments = Moments.of_shares(rng.binomial(self.visitors, rates, (runs, self.arms)), self.visitors)
        return Guarded(case=self, lift=lift, moments=moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """Conversions, runs by arms."""

    case: Guardrail
    lift: float
    moments: Moments

    @property
    def lifts(self) -> FloatArray:
        """The true lift, counted from the margin."""
        return np.array([self.lift])


def _cleared(sample: Guarded) -> MethodOutcome:
    return _read(sample, wanted=1)


def _broken(sample: Guarded) -> MethodOutcome:
    return _read(sample, wanted=-1)


def _read(sample: Guarded, *, wanted: int) -> MethodOutcome:
    """The verdict in the wanted direction, and that it is sure not to be worse than so."""
    arms, margin = Estimate.of(sample.moments), sample.case.margin
    control, variant = arms[:, None, :1], arms[:, None, 1:]
    found = judge_guardrail(control, variant, margin=margin, alpha=FAMILY)
    called = np.where(found.holds if wanted > 0 else found.broken, wanted, 0)
    seen = (variant.value - control.value) / sample.case.rate + margin
    return MethodOutcome(called, found.worst + margin, np.full(seen.shape, np.inf), seen)


METHODS: tuple[Method, ...] = (
    Method(
        name="non-inferiority",
        read=_cleared,
        fits=lambda case: isinstance(case, Guardrail) and not case.harms,
        errs=FAMILY / 2.0,
    ),
    Method(
        name="guardrail broken",
        read=_broken,
        fits=lambda case: isinstance(case, Guardrail) and case.harms,
        errs=FAMILY / 2.0,
    ),
)
