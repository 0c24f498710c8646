"""Methods under calibration: the cases they apply to, their outcomes and promised error rates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from engine.calibration.trials import LEVEL, Setting
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.frequentist.two_sample import Comparison, compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from engine.stats.skewness import PooledCumulants

Kind = TypeVar("Kind")
FAMILY = (100 - LEVEL) / 100


class Sample(Protocol):
    """Simulated runs of one case, with their true lifts."""

    @property
    def lift(self) -> float:
        """The lift that the runs were drawn with; 0 under the null hypothesis."""
        ...

    @property
    def lifts(self) -> FloatArray:
        """The true lift of each comparison; broadcasts to runs by looks by comparisons."""
        ...


class Case(Protocol):
    """A kind of simulated experiment, with the columns that a table shows of it.

    `rate` is the control's conversion rate, or its orders per visitor; `visitors` is the number per arm.
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
        """The lift to draw under the alternative hypothesis."""
        ...

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> Sample:
        """Simulate `runs` experiments."""
        ...


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """Verdicts, intervals and lifts of a method at each of its looks: runs by looks by comparisons.

    `verdict` is 1 for a winner, -1 for a loser and 0 otherwise. [`low`, `high`] is the interval of the lift,
    NaN where the method gives none; `observed_lift` is over the control's true mean. `truth` is the true
    value of what is estimated, where that is not the sample's lift; it broadcasts to the same shape.
    """

    verdict: IntArray
    low: FloatArray
    high: FloatArray
    observed_lift: FloatArray
    truth: FloatArray | None = None


def cases_of(kind: type[Kind], where: Callable[[Kind], bool] = lambda _: True) -> Callable[[object], bool]:
    """Build the condition that a case is of a kind, and of those that another condition holds for."""
    return lambda case: isinstance(case, kind) and where(case)


DAILY: Final = cases_of(Setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A statistical method, the cases that it `applies_to`, and the error rates that it promises.

    `error_rate` is the promised share of false positives: of A/A tests with any verdict, or of all verdicts
    where some effects are real. Where it `promises_coverage`, intervals cover with 1 - `error_rate` `each`,
    with the error rate `shared` among the comparisons, or `all` together. A method with `is_safe` False
    breaks its promise, and is included as a warning.
    """

    name: str
    run: Callable[[Any], MethodOutcome]
    applies_to: Callable[[object], bool] = DAILY
    error_rate: float = FAMILY
    intervals: Literal["shared", "each", "all"] = "shared"
    promises_coverage: bool = True
    is_safe: bool = True

    def promised_coverage(self, comparisons: int) -> float | None:
        """Promised share of intervals, or sets of intervals, that cover the truth; None without a promise."""
        if not self.promises_coverage:
            return None
        return 1.0 - self.error_rate / (comparisons if self.intervals == "shared" else 1)


def outcome_of_test(comparison: Comparison, alpha: float, observed_lift: FloatArray) -> MethodOutcome:
    """Take verdicts and intervals from a test at level `alpha`."""
    significant = comparison.log_p <= np.log(alpha)
    verdict = np.where(significant, np.sign(comparison.statistic), 0.0).astype(np.int64)
    return MethodOutcome(verdict, comparison.low, comparison.high, observed_lift)


def outcome_of_estimates(
    control: Estimate,
    variant: Estimate,
    *,
    mean: float | FloatArray,
    skewness: npt.ArrayLike = 0.0,
) -> MethodOutcome:
    """Test two estimates once per run; `mean` is the control's true mean.

    By Welch's test, freed of the `skewness` of the difference; that broadcasts to the estimates.
    """
    first, second = control[:, None], variant[:, None]
    alpha = FAMILY / first.n.shape[-1]
    observed_lift = (second.value - first.value) / mean
    skewed = np.broadcast_to(np.asarray(skewness, np.float64), control.n.shape)[:, None]
    return outcome_of_test(compare_means(first, second, alpha, skewed), alpha, observed_lift)


def outcome_of_means(arms: Moments, *, mean: float | FloatArray) -> MethodOutcome:
    """Test every arm's mean against the first, the control's, as the service does; runs by arms."""
    variants = arms[:, 1:]
    control = arms[:, :1].broadcast_to(variants.n.shape)
    skewness = PooledCumulants.of(control, variants).skewness()
    return outcome_of_estimates(Estimate.of(control), Estimate.of(variants), mean=mean, skewness=skewness)


def outcome_of_ratios(pairs: PairedMoments, *, mean: float) -> MethodOutcome:
    """Test every arm's ratio against the first, the control's, as the service does; runs by arms."""
    variants = pairs[:, None, 1:]
    arms = RatioArms(pairs[:, None, :1].broadcast_to(variants.n.shape), variants)
    alpha = FAMILY / variants.n.shape[-1]
    control, variant = arms.moments()
    return outcome_of_test(arms.compare(alpha), alpha, (variant.mean - control.mean) / mean)
