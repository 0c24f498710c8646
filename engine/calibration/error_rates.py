"""Error rates of methods by simulation: false positives, coverage, power and bias."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.calibration.amounts import AmountsCase
from engine.calibration.bandits import BanditCase
from engine.calibration.guardrails import GuardrailCase
from engine.calibration.lift_priors import LiftPriorCase
from engine.calibration.measures import MeasureCase
from engine.calibration.method import (
    Case,
    Method,
    MethodOutcome,
    Sample,
)
from engine.calibration.returning_visitors import ReturningVisitorsCase
from engine.calibration.sample_ratio import SampleRatioCase
from engine.calibration.segments import SegmentsCase
from engine.calibration.several_covariates import CovariatesCase
from engine.calibration.trials import Setting
from engine.shown_result import ShownResult
from engine.stats.arrays import BoolArray, FloatArray, IntArray

# A promise is broken where the simulated share is this many standard errors beyond it.
_BEYOND_CHANCE = 4.0

DEFAULT_SETTINGS: tuple[Case, ...] = (
    Setting(rate=0.001, visitors=28_000),
    Setting(rate=0.01, visitors=14_000),
    Setting(rate=0.05, visitors=5_600),
    Setting(rate=0.05, visitors=5_600, arms=3),
    Setting(rate=0.05, visitors=5_600, arms=4),
    Setting(rate=0.05, visitors=5_600, arms=5),
    Setting(rate=0.2, visitors=2_800),
    Setting(rate=0.5, visitors=2_800),
    Setting(rate=0.05, visitors=14_000, orders="lognormal"),
    Setting(rate=0.05, visitors=14_000, orders="lognormal", arms=3),
    Setting(rate=0.05, visitors=14_000, orders="pareto"),
    Setting(rate=0.2, visitors=196, orders="lognormal"),
    ReturningVisitorsCase(rate=2.0, visitors=1_000),
    ReturningVisitorsCase(rate=0.5, visitors=200),
    AmountsCase(rate=0.3, visitors=1_000, orders="lognormal"),
    AmountsCase(rate=0.3, visitors=1_000, orders="pareto"),
    AmountsCase(rate=0.1, visitors=1_800, orders="lognormal", uneven=9),
    LiftPriorCase(rate=0.1, visitors=5_000, deviation=0.1, drawn=True),
    LiftPriorCase(rate=0.1, visitors=5_000, deviation=0.1, drawn=False),
    BanditCase(rate=0.05, visitors=10_000),
    BanditCase(rate=0.05, visitors=10_000, arms=3),
    GuardrailCase(rate=0.1, visitors=14_000, margin=0.1, harms=False),
    GuardrailCase(rate=0.1, visitors=14_000, margin=0.1, harms=True),
    SegmentsCase(rate=0.1, visitors=2_000),
    SegmentsCase(rate=0.1, visitors=2_000, affected=5),
    SampleRatioCase(visitors=14_000),
    SampleRatioCase(visitors=14_000, arms=4),
    MeasureCase(measure="count", rate=1.5, visitors=1_000),
    MeasureCase(measure="count", rate=1.5, visitors=1_800, uneven=9),
    MeasureCase(measure="value", rate=1.0, visitors=500),
    MeasureCase(measure="ratio", rate=2.0, visitors=1_000),
    CovariatesCase(rate=50.0, visitors=200),
)


@dataclass(frozen=True, slots=True)
class SimulatedFigure:
    """A share or a mean over runs, and its Monte-Carlo standard error."""

    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRates(ShownResult):
    """Error rates of one method in one setting, as shares; `coverage` is None for a method without intervals.

    `false_positives` is the share of A/A tests with any verdict. `coverage` is the share of comparisons whose
    intervals cover the truth at all looks. `power` is the share of true effects, of size `lift`, with a
    verdict in the right direction. `bias` is the mean excess of the observed lift, when the method stopped,
    over the true one.
    """

    setting: Case
    method: Method
    runs: int
    lift: float
    false_positives: SimulatedFigure
    coverage: SimulatedFigure | None
    power: SimulatedFigure
    bias: SimulatedFigure

    @property
    def keeps_error_rate(self) -> bool:
        """True if false positives are no more frequent than promised, beyond simulation error."""
        return self.false_positives.value <= self.method.error_rate + self._allowance(self.method.error_rate)

    @property
    def keeps_coverage(self) -> bool:
        """True if intervals cover as often as promised, beyond simulation error, or without a promise."""
        covers = self.method.promised_coverage(self.setting.arms - 1)
        if covers is None or self.coverage is None:
            return True
        return self.coverage.value >= covers - self._allowance(covers)

    @property
    def keeps_promise(self) -> bool:
        """True if both the error rate and the coverage are as promised."""
        return self.keeps_error_rate and self.keeps_coverage

    def _allowance(self, promised: float) -> float:
        # The standard error under the promise: that of an observed share of 0 would be 0.
        return _BEYOND_CHANCE * float(np.sqrt(promised * (1.0 - promised) / self.runs))


def calibrate(
    cases: Sequence[Case], methods: Sequence[Method], *, runs: int, seed: int
) -> Iterator[tuple[ErrorRates, ...]]:
    """Measure the error rates of every method that applies to each case, case by case.

    Each case is simulated `runs` times under the null hypothesis and `runs` times with its detectable lift.
    The same seed gives the same error rates.
    """
    for index, case in enumerate(cases):
        # One generator a case, so that the other cases change nothing in it.
        rng = np.random.default_rng([seed, index])
        null = case.draw(lift=0.0, runs=runs, rng=rng)
        true = case.draw(lift=case.detectable, runs=runs, rng=rng)
        yield tuple(measure(case, method, null, true) for method in methods if method.applies_to(case))


def measure(case: Case, method: Method, null: Sample, true: Sample) -> ErrorRates:
    """Measure the error rates of a method on samples under the null hypothesis and with a true effect."""
    false, found = method.run(null), method.run(true)
    truth = _truth(found, true)
    stops = _stops(found)
    verdict, observed_lift, lift = (
        np.take_along_axis(part, stops, axis=1)[:, 0] for part in (found.verdict, found.observed_lift, truth)
    )
    real = lift != 0
    return ErrorRates(
        setting=case,
        method=method,
        runs=len(false.verdict),
        lift=true.lift,
        false_positives=_mean(_false_discoveries(false, _truth(false, null))),
        coverage=_coverage(found, truth, together=method.intervals == "all"),
        power=_mean(_by_run(verdict == np.sign(lift), real)),
        bias=_mean(_by_run(observed_lift - lift, real & np.isfinite(observed_lift))),
    )


def _truth(outcome: MethodOutcome, sample: Sample) -> FloatArray:
    """True values of what the method estimates: runs by looks by comparisons."""
    return np.broadcast_to(sample.lifts if outcome.truth is None else outcome.truth, outcome.verdict.shape)


def _false_discoveries(outcome: MethodOutcome, truth: FloatArray) -> FloatArray:
    """Share of each run's verdicts, at any look, without a true effect; 0 for a run without verdicts."""
    decided = (outcome.verdict != 0).any(axis=1)
    wrong = decided & (truth == 0).all(axis=1)
    return np.asarray(wrong.sum(axis=-1) / np.maximum(decided.sum(axis=-1), 1))


def _stops(outcome: MethodOutcome) -> IntArray:
    """First look with a verdict on each comparison, or else the last look: runs by 1 by comparisons."""
    decided = outcome.verdict != 0
    last = outcome.verdict.shape[1] - 1
    first: IntArray = np.where(decided.any(axis=1), decided.argmax(axis=1), last)[:, None]
    return first


def _coverage(outcome: MethodOutcome, truth: FloatArray, *, together: bool) -> SimulatedFigure | None:
    has_interval = ~np.isnan(outcome.low)
    if not has_interval.any():
        return None
    # A look without an interval misses nothing; a comparison without any interval does not count.
    covers = (outcome.low <= truth) & (truth <= outcome.high)
    holds: BoolArray = np.all(~has_interval | covers, axis=1)
    counted: BoolArray = np.any(has_interval, axis=1)
    if together:
        holds = np.asarray((holds | ~counted).all(axis=-1, keepdims=True))
        counted = np.asarray(counted.any(axis=-1, keepdims=True))
    value = float(holds[counted].mean())
    # Comparisons of one run share their control: only runs are independent.
    deviations = np.where(counted, holds - value, 0.0).sum(axis=-1)
    return SimulatedFigure(value, float(np.sqrt((deviations**2).sum()) / counted.sum()))


def _by_run(values: npt.NDArray[Any], counted: BoolArray) -> FloatArray:
    """Average of each run over the comparisons counted, for runs with any."""
    some = counted.any(axis=-1)
    total = np.where(counted, values, 0.0).sum(axis=-1)
    return np.asarray(total[some] / counted.sum(axis=-1)[some])


def _mean(by_run: FloatArray) -> SimulatedFigure:
    return SimulatedFigure(float(by_run.mean()), float(by_run.std() / np.sqrt(by_run.size)))
