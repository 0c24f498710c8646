"""How often each method was wrong, held the truth, and found what was there, each with its error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.analysis.moments import BoolArray, FloatArray
from engine.calibration.methods import Method, Reading
from engine.calibration.trials import Setting, Trials, draw_trials

IntArray = npt.NDArray[np.intp]

# A promise is broken where the count is this many standard errors beyond it.
_BEYOND_CHANCE = 4.0

DEFAULT_SETTINGS: tuple[Setting, ...] = (
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

    setting: Setting
    method: Method
    runs: int
    lift: float
    false_positives: Figure
    coverage: Figure | None
    power: Figure
    bias: Figure

    @property
    def keeps_its_promise(self) -> bool:
        """Whether there are no more false positives than promised, chance aside."""
        errs = self.method.errs
        # The error that the promise itself would have: a count of nothing has none of its own.
        allowance = _BEYOND_CHANCE * np.sqrt(errs * (1.0 - errs) / self.runs)
        return bool(self.false_positives.value <= errs + allowance)


def calibrate(
    settings: Sequence[Setting], methods: Sequence[Method], *, runs: int, seed: int
) -> Iterator[tuple[Score, ...]]:
    """Score every method in one setting after the other; the same seed gives the same scores.

    Each setting is run `runs` times without any effect and as often with the lift that a single look finds
    four times in five.
    """
    for index, setting in enumerate(settings):
        # A generator of its own: what comes before a setting changes nothing in it.
        rng = np.random.default_rng([seed, index])
        null = draw_trials(setting, lift=0.0, runs=runs, rng=rng)
        true = draw_trials(setting, lift=setting.detectable, runs=runs, rng=rng)
        yield tuple(score(method, null, true) for method in methods if method.fits(null))


def score(method: Method, null: Trials, true: Trials) -> Score:
    """Score a method on trials without an effect and on trials with one."""
    false, found = method.read(null), method.read(true)
    looks = _stops(found)
    calls = np.take_along_axis(found.called, looks, axis=1)[:, 0]
    return Score(
        setting=null.setting,
        method=method,
        runs=len(false.called),
        lift=true.lift,
        false_positives=_share((false.called != 0).any(axis=(1, 2))),
        coverage=_coverage(found, true.lifts),
        power=_share(calls[:, -1] == 1),
        bias=_bias(true, looks + true.moments.n.shape[1] - found.called.shape[1]),
    )


def _stops(reading: Reading) -> IntArray:
    """The first look at which each comparison is called, or else the last: runs by 1 by comparisons."""
    decided = reading.called != 0
    last = reading.called.shape[1] - 1
    first: IntArray = np.where(decided.any(axis=1), decided.argmax(axis=1), last)[:, None]
    return first


def _coverage(reading: Reading, lifts: FloatArray) -> Figure | None:
    said = ~np.isnan(reading.low)
    if not said.any():
        return None
    # Nothing said is nothing wrong, but a comparison about which nothing ever was said does not count.
    holds: BoolArray = np.all(~said | ((reading.low <= lifts) & (lifts <= reading.high)), axis=1)
    counted: BoolArray = np.any(said, axis=1)
    value = float(holds[counted].mean())
    # Comparisons of one run share their control, so runs are what is independent.
    independent = np.any(counted, axis=1).sum()
    return Figure(value, float(np.sqrt(value * (1.0 - value) / independent)))


def _bias(trials: Trials, days: IntArray) -> Figure:
    """Of the last arm's lift on the day the method stopped, over the control's true mean."""
    means = trials.moments.mean
    gap = np.take_along_axis(means[..., 1:] - means[..., :1], days, axis=1)[:, 0, -1]
    off = gap / trials.setting.mean - trials.lift
    return Figure(float(off.mean()), float(off.std(ddof=1) / np.sqrt(off.size)))


def _share(happened: BoolArray) -> Figure:
    value = float(happened.mean())
    return Figure(value, float(np.sqrt(value * (1.0 - value) / happened.size)))
