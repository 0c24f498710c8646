"""What a method says of simulated experiments, what it promises, and what it can be tried on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from engine.calibration.trials import LEVEL, Setting
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import Comparison, compare_means

FAMILY = (100 - LEVEL) / 100


class Sample(Protocol):
    """What so many runs of one kind of experiment had observed, and the truth about them."""

    @property
    def lift(self) -> float:
        """What they were drawn with: 0 where there is nothing to find."""
        ...

    @property
    def lifts(self) -> FloatArray:
        """The truth about each comparison, in a shape that broadcasts to runs by looks by comparisons."""
        ...


class Case(Protocol):
    """A kind of experiment whose truth is known, and what a table says about it.

    `rate` is the control's share of visitors who convert or buy, or its orders per visitor; `visitors` is
    how many each of `arms` gets.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  # the class says it
    @property
    def metric(self) -> str: ...  # noqa: D102
    @property
    def rate(self) -> float: ...  # noqa: D102
    @property
    def visitors(self) -> int: ...  # noqa: D102
    @property
    def arms(self) -> int: ...  # noqa: D102

    @property
    def detectable(self) -> float:
        """The lift to draw where there is to be something to find."""
        ...

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> Sample:
        """Run it `runs` times."""
        ...


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """What a method says at each look it takes: runs by looks by comparisons.

    `called` is 1 for a winner, -1 for a loser and 0 else. The lift is said to lie in [`low`, `high`], which
    are NaN where nothing is said, and is shown as `seen`, over the control's true mean. `truth` is what all
    that is about, where it is not the lift of the sample: it broadcasts as those do.
    """

    called: IntArray
    low: FloatArray
    high: FloatArray
    seen: FloatArray
    truth: FloatArray | None = None


def is_daily(case: object) -> bool:
    """Whether it is watched day by day: what a method is for, where it does not say else."""
    return isinstance(case, Setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to judge, the cases that it `fits`, and what it promises.

    Of what it calls where there is nothing to find, a share of `errs` is wrong on average: with nothing to
    find anywhere that is the share of tests that call anything. Intervals of comparisons cover 1 - `errs`
    `each`, or `shared` out among them, or `all` of them at once; a method that `promises_coverage` keeps to
    that. One that is not `is_safe` is there as a warning.
    """

    name: str
    read: Callable[[Any], MethodOutcome]
    fits: Callable[[Any], bool] = is_daily
    errs: float = FAMILY
    intervals: Literal["shared", "each", "all"] = "shared"
    promises_coverage: bool = True
    is_safe: bool = True

    def covers(self, comparisons: int) -> float | None:
        """The share of intervals, or of sets of them, that should hold the truth; None without a promise."""
        if not self.promises_coverage:
            return None
        return 1.0 - self.errs / (comparisons if self.intervals == "shared" else 1)


def read_test(comparison: Comparison, alpha: float, seen: FloatArray) -> MethodOutcome:
    """What a test says at the level `alpha`."""
    significant = comparison.log_p <= np.log(alpha)
    called = np.where(significant, np.sign(comparison.statistic), 0.0).astype(np.int64)
    return MethodOutcome(called, comparison.low, comparison.high, seen)


def read_pair(control: Estimate, variant: Estimate, *, mean: float | FloatArray) -> MethodOutcome:
    """What Welch's test says, once, of two estimates by run; `mean` is the control's true one."""
    first, second = control[:, None], variant[:, None]
    alpha = FAMILY / first.n.shape[-1]
    seen = (second.value - first.value) / mean
    return read_test(compare_means(first, second, alpha), alpha, seen)


def read_arms(arms: Estimate, *, mean: float | FloatArray) -> MethodOutcome:
    """The same of runs by arms, the control first."""
    variants = arms[:, 1:]
    return read_pair(arms[:, :1].broadcast_to(variants.n.shape), variants, mean=mean)
