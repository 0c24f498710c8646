"""Guardrails: calibration of the non-inferiority test at its margin."""

from dataclasses import dataclass

import numpy as np
import scipy

from engine.calibration.method import FAMILY, Method, MethodOutcome, cases_of
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.equivalence import relative_z, remaining_lifts
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants

# Of a one-sided test at half of the level.
_CRITICAL = float(-scipy.special.ndtri(FAMILY / 2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailCase:
    """A conversion rate that may fall by the share `margin`; all lifts are relative to that margin.

    Under the alternative the variant has no effect, or, with `harms`, falls by twice the margin.
    """

    rate: float
    visitors: int
    margin: float
    harms: bool
    arms: int = 2
    metric = "conversion above the margin"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"guardrail, {'harm' if self.harms else 'no harm'}"

    @property
    def detectable(self) -> float:
        """Distance of the alternative from the margin: above it for no effect, below it for harm."""
        return -self.margin if self.harms else self.margin

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "GuardrailSample":
        """Simulate `runs` experiments; `lift` is relative to the margin."""
        rates = self.rate * np.array([1.0, 1.0 - self.margin + lift])
        moments = Moments.of_shares(rng.binomial(self.visitors, rates, (runs, self.arms)), self.visitors)
        return GuardrailSample(case=self, lift=lift, moments=moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSample:
    """Conversions, runs by arms."""

    case: GuardrailCase
    lift: float
    moments: Moments

    @property
    def lifts(self) -> FloatArray:
        """True lift, relative to the margin."""
        return np.array([self.lift])


def _test_no_harm(sample: GuardrailSample) -> MethodOutcome:
    return _test(sample, wanted=1)


def _test_harm(sample: GuardrailSample) -> MethodOutcome:
    return _test(sample, wanted=-1)


def _test(sample: GuardrailSample, *, wanted: int) -> MethodOutcome:
    """Take the verdict in the wanted direction, and the one-sided bound of the lift."""
    arms, margin = Estimate.of(sample.moments), sample.case.margin
    control, variant = arms[:, None, :1], arms[:, None, 1:]
    moments = sample.moments[:, None]
    cumulants = PooledCumulants.of(moments[..., :1], moments[..., 1:])
    z = relative_z(control, variant, ratio=1.0 - margin, cumulants=cumulants)
    verdict = np.where(wanted * z > _CRITICAL, wanted, 0)
    lowest, _ = remaining_lifts(control, variant, critical=_CRITICAL, cumulants=cumulants)
    observed_lift = (variant.value - control.value) / sample.case.rate + margin
    return MethodOutcome(verdict, lowest + margin, np.full(observed_lift.shape, np.inf), observed_lift)


METHODS: tuple[Method, ...] = (
    Method(
        name="non-inferiority",
        run=_test_no_harm,
        applies_to=cases_of(GuardrailCase, lambda case: not case.harms),
        error_rate=FAMILY / 2.0,
    ),
    Method(
        name="guardrail broken",
        run=_test_harm,
        applies_to=cases_of(GuardrailCase, lambda case: case.harms),
        error_rate=FAMILY / 2.0,
    ),
)
