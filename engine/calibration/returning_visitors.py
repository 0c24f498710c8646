"""Returning visitors: calibration of CUPED and of revenue per order."""

from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.metrics import Metrics, adjusted_metrics, metric_moments
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
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

# Deviations on the log scale: of order frequency and of spend between visitors, and of orders of a visitor.
_FREQUENCY, _SPEND, _SIZE = 0.8, 0.5, 0.5
# Visitors drawn at a time.
_AT_A_TIME = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturningVisitorsCase:
    """Returning visitors with `rate` orders each before the experiment and in it, worth 1 on average.

    Order frequency and spend differ between visitors and persist. Pre-period revenue exists for the share
    `known` of the visitors. The lift is of the size of orders.
    """

    rate: float
    visitors: int
    known: float = 0.7
    arms: int = 2
    metric = "revenue and orders"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"returning, {self.visitors:,} an arm"

    @property
    def detectable(self) -> float:
        """The lift that one Welch test of revenue per visitor detects with 80% power."""
        spend = np.exp(_SPEND**2)
        once, twice = spend * np.exp(_SIZE**2), spend * np.exp(_FREQUENCY**2)
        deviation = np.sqrt(self.rate * once + self.rate**2 * (twice - 1.0))
        return detectable_lift(
            Mean(self.rate, deviation), self.visitors, Plan(alpha=FAMILY, power=0.8)
        ).item()

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "ReturningVisitorsSample":
        """Simulate `runs` experiments, in blocks that bound the memory."""
        step = max(_AT_A_TIME // (self.arms * self.visitors), 1)
        parts = [_draw(self, lift, min(step, runs - first), rng) for first in range(0, runs, step)]
        revenue, orders = (VisitorValues.concatenate(each) for each in zip(*parts, strict=True))
        return ReturningVisitorsSample(case=self, lift=lift, revenue=revenue, orders=orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturningVisitorsSample:
    """Values of two goals, runs by arms: `revenue` per visitor and `orders` per order."""

    case: ReturningVisitorsCase
    lift: float
    revenue: VisitorValues
    orders: VisitorValues

    @property
    def lifts(self) -> FloatArray:
        """True lift of revenue per visitor, and of revenue per order."""
        return np.array([self.lift])


def _draw(
    case: ReturningVisitorsCase, lift: float, runs: int, rng: np.random.Generator
) -> tuple[VisitorValues, VisitorValues]:
    shape = (runs, case.arms, case.visitors)
    past, orders, spent = draw_returning(case.rate, shape, rng)
    spent *= np.array([1.0, 1.0 + lift])[:, None]
    is_known = rng.random(shape) < case.known
    plain = VisitorValues.of(Moments.of(spent))
    revenue = replace(
        plain,
        before=_paired(past, spent, is_known),
        without_before=_paired(past, spent, ~is_known).y,
    )
    # Per order, a visitor without a pre-period gets the average, as in engine.frames.values.
    average = np.where(is_known, past, 0.0).sum(axis=(1, 2)) / is_known.sum(axis=(1, 2))
    filled = np.where(is_known, past, average[:, None, None])
    per_order = replace(
        plain,
        orders=PairedMoments.of(orders, spent),
        before=PairedMoments.of(filled, spent),
        before_orders=PairedMoments.of(filled, orders),
        triple=triple_moments(filled, spent, orders.astype(np.float64)),
    )
    return revenue, per_order


def draw_returning(
    rate: float, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Draw visitors' earlier revenue, their orders and their revenue, with `rate` orders of 1 on average."""
    frequency, spend = rate * lognormal(rng, _FREQUENCY, shape), lognormal(rng, _SPEND, shape)
    past = spend * _revenue(rng, rng.poisson(frequency))
    orders = rng.poisson(frequency)
    return past, orders, spend * _revenue(rng, orders)


def triple_moments(*values: FloatArray) -> FloatArray:
    """Sum the products of the deviations of three values, runs by arms."""
    z, y, x = (each - each.mean(axis=-1, keepdims=True) for each in values)
    return np.asarray((z * y * x).sum(axis=-1))


def lognormal(rng: np.random.Generator, deviation: float, shape: int | tuple[int, ...]) -> FloatArray:
    """Lognormal numbers with a mean of 1."""
    return rng.lognormal(-(deviation**2) / 2, deviation, shape)


def _revenue(rng: np.random.Generator, orders: IntArray) -> FloatArray:
    """Total amount of each number of orders."""
    sizes = lognormal(rng, _SIZE, int(orders.sum()))
    visitor = np.repeat(np.arange(orders.size), orders.ravel())
    return np.bincount(visitor, sizes, orders.size).astype(np.float64).reshape(orders.shape)


def _paired(x: FloatArray, y: FloatArray, chosen: BoolArray) -> PairedMoments:
    """Moments of the chosen visitors, runs by arms."""
    cells = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])
    cell = np.broadcast_to(cells[..., None], x.shape)[chosen]
    return PairedMoments.of_groups(x[chosen], y[chosen], cell, cells.size)[cells]


def _plain(sample: ReturningVisitorsSample) -> MethodOutcome:
    return outcome_of_means(metric_moments(sample.revenue), mean=sample.case.rate)


def _cuped(sample: ReturningVisitorsSample) -> MethodOutcome:
    return outcome_of_means(_adjusted(sample.revenue).moments, mean=sample.case.rate)


def _per_order(sample: ReturningVisitorsSample) -> MethodOutcome:
    return outcome_of_ratios(sample.orders.orders, mean=1.0)


def _per_order_cuped(sample: ReturningVisitorsSample) -> MethodOutcome:
    return outcome_of_ratios(_adjusted(sample.orders).ratios, mean=1.0)


def _adjusted(values: VisitorValues) -> Metrics:
    """Adjust as a report adjusts goals, each run standing for a goal."""
    is_share = np.zeros(len(values.value.n), bool)
    return adjusted_metrics(values, is_share=is_share)


METHODS: tuple[Method, ...] = (
    Method(name="Welch, per visitor", run=_plain, applies_to=cases_of(ReturningVisitorsCase)),
    Method(name="CUPED, per visitor", run=_cuped, applies_to=cases_of(ReturningVisitorsCase)),
    Method(name="Welch, per order", run=_per_order, applies_to=cases_of(ReturningVisitorsCase)),
    Method(name="CUPED, per order", run=_per_order_cuped, applies_to=cases_of(ReturningVisitorsCase)),
)
