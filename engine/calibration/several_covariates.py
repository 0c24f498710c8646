"""Several covariates: calibration of CUPED by numbers and categories together."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome, cases_of, outcome_of_means
from engine.design.planning.sample_size import Mean, Plan, detectable_lift
from engine.stats.arrays import FloatArray
from engine.stats.covariates import CovariateMoments, pooled_slopes
from engine.stats.cuped import adjust
from engine.stats.moments import Moments

_CATEGORIES = 4
# Deviation of a visitor's value that no covariate explains, where each covariate has a deviation of 1.
_NOISE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CovariatesCase:
    """Values with the mean `rate`, which two correlated numbers and a category explain in part."""

    rate: float
    visitors: int
    arms: int = 2
    metric = "value"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"covariates, {self.visitors:,} an arm"

    @property
    def detectable(self) -> float:
        """The lift that one Welch test of unadjusted values detects with 80% power."""
        # Two covariates with a correlation of 0.5, categories of mean 0 and variance 1.25, and noise.
        deviation = np.sqrt(2.0 + 2.0 * 0.5 + 1.25 + _NOISE**2)
        metric = Mean(self.rate, float(deviation))
        return detectable_lift(metric, self.visitors, Plan(alpha=FAMILY, power=0.8)).item()

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "CovariatesSample":
        """Simulate `runs` experiments; the lift moves every value by as much."""
        moments = tuple(self._draw(lift, rng) for _ in range(runs))
        return CovariatesSample(case=self, lift=lift, runs=moments)

    def _draw(self, lift: float, rng: np.random.Generator) -> CovariateMoments:
        x, y = [], []
        for arm in range(self.arms):
            numbers = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], self.visitors)
            category = rng.integers(0, _CATEGORIES, self.visitors)
            # One of them, as a data frame has them: all but one category.
            x.append(np.column_stack([numbers, *(category == one for one in range(1, _CATEGORIES))]))
            level = self.rate * (1.0 + lift * (arm > 0)) + category - (_CATEGORIES - 1) / 2
            y.append(level + numbers.sum(axis=1) + rng.normal(0.0, _NOISE, self.visitors))
        return CovariateMoments.of(x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class CovariatesSample:
    """Moments of every run."""

    case: CovariatesCase
    lift: float
    runs: tuple[CovariateMoments, ...]

    @property
    def lifts(self) -> FloatArray:
        """True lift of the mean."""
        return np.array([self.lift])


def _unadjusted(sample: CovariatesSample) -> MethodOutcome:
    return outcome_of_means(Moments.stack([run.y for run in sample.runs]), mean=sample.case.rate)


def _adjusted(sample: CovariatesSample) -> MethodOutcome:
    """Adjust as a data frame's goal is adjusted."""
    moments = []
    for run in sample.runs:
        theta, rank = pooled_slopes(run.xx, run.xy)
        moments.append(adjust(run.pair(theta), slopes=rank).moments)
    return outcome_of_means(Moments.stack(moments), mean=sample.case.rate)


METHODS: tuple[Method, ...] = (
    Method(name="Welch, no covariates", run=_unadjusted, applies_to=cases_of(CovariatesCase)),
    Method(name="CUPED, several", run=_adjusted, applies_to=cases_of(CovariatesCase)),
)
