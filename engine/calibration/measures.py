"""Measures of goals besides conversions and revenue: calibration of counts, values and ratios."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from engine.analysis.comparison.metrics import metric_moments
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.calibration.method import (
    FAMILY,
    Method,
    MethodOutcome,
    cases_of,
    outcome_of_means,
    outcome_of_ratios,
)
from engine.design.planning.sample_size import Mean, Plan, detectable_lift
from engine.stats.arrays import FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

SimulatedMeasure = Literal["count", "value", "ratio"]

# Shape of the gamma distribution of visitors' rates: counts vary by more than chance.
_SHAPE = 0.7
# Deviation of simulated values, of which many are below 0.
_DEVIATION = 3.0
# Share of page views that are clicked.
_CLICKED = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureCase:
    """Counts per visitor with a mean of `rate`, values of either sign with that mean, or clicks per view.

    Counts are negative binomial, values normal, and views of a visitor are such counts, at least one. The
    lift is of the mean, or of the share of views that are clicked.
    """

    measure: SimulatedMeasure
    rate: float
    visitors: int
    uneven: int = 1
    arms: int = 2

    def __post_init__(self) -> None:
        """Raise ValueError for a measure that is not simulated."""
        if self.measure not in get_args(SimulatedMeasure):
            known = ", ".join(map(repr, get_args(SimulatedMeasure)))
            raise ValueError(f"measures are {known}, not {self.measure!r}")

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"{self.measure}, {self.visitors:,} an arm" + (f", {self.uneven}:1" if self.uneven > 1 else "")

    @property
    def metric(self) -> str:
        """The metric that is simulated."""
        return self.measure

    @property
    def mean(self) -> float:
        """The control's true metric."""
        return _CLICKED if self.measure == "ratio" else self.rate

    @property
    def detectable(self) -> float:
        """The lift that one Welch test detects with 80% power."""
        dispersed = self.rate + self.rate**2 / _SHAPE
        # By the delta method: clicks given views are binomial, so that views add no variance to the ratio.
        variance = {
            "count": dispersed,
            "value": _DEVIATION**2,
            "ratio": _CLICKED * (1.0 - _CLICKED) / (1.0 + self.rate),
        }
        metric = Mean(self.mean, float(np.sqrt(variance[self.measure])))
        return detectable_lift(metric, self.visitors, Plan(alpha=FAMILY, power=0.8)).item()

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "MeasureSample":
        """Simulate `runs` experiments."""
        arms = [
            self._draw(n, factor, runs, rng)
            for n, factor in ((self.visitors, 1.0), (self.visitors // self.uneven, 1.0 + lift))
        ]
        return MeasureSample(case=self, lift=lift, values=VisitorValues.concatenate(arms))

    def _draw(self, visitors: int, factor: float, runs: int, rng: np.random.Generator) -> VisitorValues:
        """Draw the values of an arm; arms are the first axis, runs the second."""
        shape = (runs, visitors)
        if self.measure == "value":
            return VisitorValues.of(Moments.of(factor * rng.normal(self.rate, _DEVIATION, shape))[None])
        rates = rng.gamma(_SHAPE, self.rate / _SHAPE, shape)
        if self.measure == "count":
            return VisitorValues.of(Moments.of(rng.poisson(rates * factor))[None])
        views = 1 + rng.poisson(rates)
        pairs = PairedMoments.of(views, rng.binomial(views, _CLICKED * factor))[None]
        return replace(VisitorValues.of(pairs.y), orders=pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSample:
    """Values of every run, arms by runs."""

    case: MeasureCase
    lift: float
    values: VisitorValues

    @property
    def lifts(self) -> FloatArray:
        """True lift of the metric."""
        return np.array([self.lift])


def _welch(sample: MeasureSample) -> MethodOutcome:
    """Test as a report tests goals of any measure but conversions."""
    if sample.case.measure == "ratio":
        return outcome_of_ratios(sample.values.orders.map(np.transpose), mean=sample.case.mean)
    return outcome_of_means(metric_moments(sample.values).map(np.transpose), mean=sample.case.mean)


METHODS: tuple[Method, ...] = (Method(name="Welch, measures", run=_welch, applies_to=cases_of(MeasureCase)),)
