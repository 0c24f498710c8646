"""How often each method was wrong, held the truth, and found what was there, each with its error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.calibration.amounts import Amounts
from engine.calibration.bandits import Bandit
from engine.calibration.guardrails import Guardrail
from engine.calibration.lift_priors import LiftPriorCase
from engine.calibration.method import (
    Case,
    Method,
    MethodOutcome,
    Sample,
)
from engine.calibration.returning_visitors import Shop
from engine.calibration.sample_ratio import Split
from engine.calibration.segments import Segments
from engine.calibration.trials import Setting
from engine.stats.arrays import BoolArray, FloatArray, IntArray

# A promise is broken where the count is this many standard errors beyond it.
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
    Shop(rate=2.0, visitors=1_000),
    Shop(rate=0.5, visitors=200),
    Amounts(rate=0.3, visitors=1_000, orders="lognormal"),
    Amounts(rate=0.3, visitors=1_000, orders="pareto"),
    Amounts(rate=0.1, visitors=1_800, orders="lognormal", uneven=9),
    LiftPriorCase(rate=0.1, visitors=5_000, deviation=0.1, drawn=True),
    LiftPriorCase(rate=0.1, visitors=5_000, deviation=0.1, drawn=False),
    Bandit(rate=0.05, visitors=10_000),
    Bandit(rate=0.05, visitors=10_000, arms=3),
    Guardrail(rate=0.1, visitors=14_000, margin=0.1, harms=False),
    Guardrail(rate=0.1, visitors=14_000, margin=0.1, harms=True),
    Segments(rate=0.1, visitors=2_000),
    Segments(rate=0.1, visitors=2_000, affected=5),
    Split(visitors=14_000),
    Split(visitors=14_000, arms=4),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or a mean over runs, and its Monte-Carlo standard error."""

    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One method in one setting. Everything is a share; `coverage` is None for a method without intervals.

    `false_positives` is the share of A/A tests with any verdict, of `errs` promised. `coverage` is that of
    comparisons whose intervals hold the truth at all looks, of `covers` promised. `power` is the share of
    tests that call the true winner, which is `lift` better; `bias` how far the lift that was seen when the
    method stopped lies above the truth on average.
    """

    setting: Case
    method: Method
    runs: int
    lift: float
    false_positives: Figure
    coverage: Figure | None
    power: Figure
    bias: Figure

    @property
    def errs_as_promised(self) -> bool:
        """Whether there are no more false positives than promised, chance aside."""
        return self.false_positives.value <= self.method.errs + self._allowance(self.method.errs)

    @property
    def covers_as_promised(self) -> bool:
        """Whether intervals hold the truth as often as promised, chance aside, if they promise that."""
        covers = self.method.covers(self.setting.arms - 1)
        if covers is None or self.coverage is None:
            return True
        return self.coverage.value >= covers - self._allowance(covers)

    @property
    def keeps_its_promise(self) -> bool:
        """Whether it neither errs more often than promised nor covers more rarely."""
        return self.errs_as_promised and self.covers_as_promised

    def _allowance(self, promised: float) -> float:
        # The error that the promise itself would have: a count of nothing has none of its own.
        return _BEYOND_CHANCE * float(np.sqrt(promised * (1.0 - promised) / self.runs))


def calibrate(
    cases: Sequence[Case], methods: Sequence[Method], *, runs: int, seed: int
) -> Iterator[tuple[Score, ...]]:
    """Score every method in one case after the other; the same seed gives the same scores.

    Each case is run `runs` times with nothing to find and as often with what it calls detectable.
    """
    for index, case in enumerate(cases):
        # A generator of its own: what comes before a case changes nothing in it.
        rng = np.random.default_rng([seed, index])
        null = case.draw(lift=0.0, runs=runs, rng=rng)
        true = case.draw(lift=case.detectable, runs=runs, rng=rng)
        yield tuple(score(case, method, null, true) for method in methods if method.fits(case))


def score(case: Case, method: Method, null: Sample, true: Sample) -> Score:
    """Score a method on runs with nothing to find and on runs with something."""
    false, found = method.read(null), method.read(true)
    truth = _truth(found, true)
    stops = _stops(found)
    calls, seen, there = (
        np.take_along_axis(part, stops, axis=1)[:, 0] for part in (found.called, found.seen, truth)
    )
    real = there != 0
    return Score(
        setting=case,
        method=method,
        runs=len(false.called),
        lift=true.lift,
        false_positives=_mean(_false_discoveries(false, _truth(false, null))),
        coverage=_coverage(found, truth, together=method.intervals == "all"),
        power=_mean(_by_run(calls == np.sign(there), real)),
        bias=_mean(_by_run(seen - there, real & np.isfinite(seen))),
    )


def _truth(reading: MethodOutcome, sample: Sample) -> FloatArray:
    """What the method's verdicts and intervals are about: runs by looks by comparisons."""
    return np.broadcast_to(sample.lifts if reading.truth is None else reading.truth, reading.called.shape)


def _false_discoveries(reading: MethodOutcome, truth: FloatArray) -> FloatArray:
    """The share of what each run calls, at any look, where there is nothing; 0 where it calls nothing."""
    decided = (reading.called != 0).any(axis=1)
    wrong = decided & (truth == 0).all(axis=1)
    return np.asarray(wrong.sum(axis=-1) / np.maximum(decided.sum(axis=-1), 1))


def _stops(reading: MethodOutcome) -> IntArray:
    """The first look at which each comparison is called, or else the last: runs by 1 by comparisons."""
    decided = reading.called != 0
    last = reading.called.shape[1] - 1
    first: IntArray = np.where(decided.any(axis=1), decided.argmax(axis=1), last)[:, None]
    return first


def _coverage(reading: MethodOutcome, truth: FloatArray, *, together: bool) -> Figure | None:
    said = ~np.isnan(reading.low)
    if not said.any():
        return None
    # Nothing said is nothing wrong, but a comparison about which nothing ever was said does not count.
    right = (reading.low <= truth) & (truth <= reading.high)
    holds: BoolArray = np.all(~said | right, axis=1)
    counted: BoolArray = np.any(said, axis=1)
    if together:
        holds = np.asarray((holds | ~counted).all(axis=-1, keepdims=True))
        counted = np.asarray(counted.any(axis=-1, keepdims=True))
    value = float(holds[counted].mean())
    # Comparisons of one run share their control, so runs are what is independent.
    apart = np.where(counted, holds - value, 0.0).sum(axis=-1)
    return Figure(value, float(np.sqrt((apart**2).sum()) / counted.sum()))


def _by_run(values: npt.NDArray[Any], counted: BoolArray) -> FloatArray:
    """The average of each run over the comparisons that count, of runs that have any."""
    some = counted.any(axis=-1)
    total = np.where(counted, values, 0.0).sum(axis=-1)
    return np.asarray(total[some] / counted.sum(axis=-1)[some])


def _mean(by_run: FloatArray) -> Figure:
    return Figure(float(by_run.mean()), float(by_run.std() / np.sqrt(by_run.size)))
