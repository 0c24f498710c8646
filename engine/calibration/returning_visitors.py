"""Simulated shops whose visitors come back: revenue, orders, and what the same visitors spent before."""

from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.metrics import adjusted_metrics, metric_moments
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.calibration.method import (
    FAMILY,
    Method,
    MethodOutcome,
    read_arms,
)
from engine.design.planning.sample_size import Mean, Plan, detectable_lift
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments, PairedMoments

# How much visitors differ in how often they order, in how much, and their orders from one another:
# deviations on the log scale.
_LIKING, _TASTE, _SIZE = 0.8, 0.5, 0.5
# Visitors who are drawn at a time.
_AT_A_TIME = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """`rate` orders per visitor before the experiment and in it, worth 1 on average.

    Visitors who order often, or much, do so in both. Of a share of `known` visitors it is known what they
    spent before; the lift is of the size of orders.
    """

    rate: float
    visitors: int
    known: float = 0.7
    arms: int = 2
    metric = "revenue and orders"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"shop, {self.visitors:,} each"

    @property
    def detectable(self) -> float:
        """The lift that a single look at revenue per visitor finds four times in five."""
        taste = np.exp(_TASTE**2)
        once, twice = taste * np.exp(_SIZE**2), taste * np.exp(_LIKING**2)
        deviation = np.sqrt(self.rate * once + self.rate**2 * (twice - 1.0))
        return detectable_lift(
            Mean(self.rate, deviation), self.visitors, Plan(alpha=FAMILY, power=0.8)
        ).item()

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Sales":
        """Run it `runs` times, some at a time."""
        step = max(_AT_A_TIME // (self.arms * self.visitors), 1)
        parts = [_draw(self, lift, min(step, runs - first), rng) for first in range(0, runs, step)]
        revenue, orders = (VisitorValues.concatenate(each) for each in zip(*parts, strict=True))
        return Sales(shop=self, lift=lift, revenue=revenue, orders=orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sales:
    """Values of two goals, runs by arms: `revenue` is judged per visitor, `orders` per order."""

    shop: Shop
    lift: float
    revenue: VisitorValues
    orders: VisitorValues

    @property
    def lifts(self) -> FloatArray:
        """The true lift of revenue per visitor, and of revenue per order."""
        return np.array([self.lift])


def _draw(
    shop: Shop, lift: float, runs: int, rng: np.random.Generator
) -> tuple[VisitorValues, VisitorValues]:
    shape = (runs, shop.arms, shop.visitors)
    often, taste = shop.rate * _lognormal(rng, _LIKING, shape), _lognormal(rng, _TASTE, shape)
    past = taste * _bought(rng, rng.poisson(often))
    orders = rng.poisson(often)
    spent = taste * _bought(rng, orders) * np.array([1.0, 1.0 + lift])[:, None]
    is_known = rng.random(shape) < shop.known
    plain = VisitorValues.of(Moments.of(spent))
    revenue = replace(
        plain,
        before=_paired(past, spent, is_known),
        without_before=_paired(past, spent, ~is_known).y,
    )
    # Judged per order, who is new stands where everybody is on average, as in engine.frames.values.
    average = np.where(is_known, past, 0.0).sum(axis=(1, 2)) / is_known.sum(axis=(1, 2))
    filled = np.where(is_known, past, average[:, None, None])
    per_order = replace(
        plain,
        orders=PairedMoments.of(orders, spent),
        before=PairedMoments.of(filled, spent),
        before_orders=PairedMoments.of(filled, orders),
    )
    return revenue, per_order


def _lognormal(rng: np.random.Generator, deviation: float, shape: int | tuple[int, ...]) -> FloatArray:
    """Positive numbers with a mean of 1."""
    return rng.lognormal(-(deviation**2) / 2, deviation, shape)


def _bought(rng: np.random.Generator, orders: IntArray) -> FloatArray:
    """What so many orders come to."""
    sizes = _lognormal(rng, _SIZE, int(orders.sum()))
    whose = np.repeat(np.arange(orders.size), orders.ravel())
    return np.bincount(whose, sizes, orders.size).astype(np.float64).reshape(orders.shape)


def _paired(x: FloatArray, y: FloatArray, chosen: BoolArray) -> PairedMoments:
    """Moments of the chosen visitors, runs by arms."""
    cells = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2])
    whose = np.broadcast_to(cells[..., None], x.shape)[chosen]
    return PairedMoments.of_groups(x[chosen], y[chosen], whose, cells.size)[cells]


def _is_shop(case: object) -> bool:
    return isinstance(case, Shop)


def _plain(sales: Sales) -> MethodOutcome:
    return read_arms(Estimate.of(metric_moments(sales.revenue)), mean=sales.shop.rate)


def _cuped(sales: Sales) -> MethodOutcome:
    return read_arms(_adjusted(sales.revenue), mean=sales.shop.rate)


def _per_order(sales: Sales) -> MethodOutcome:
    return read_arms(Estimate.of(metric_moments(sales.orders)), mean=1.0)


def _per_order_cuped(sales: Sales) -> MethodOutcome:
    return read_arms(_adjusted(sales.orders), mean=1.0)


def _adjusted(values: VisitorValues) -> Estimate:
    """As a report adjusts goals, each run being one."""
    is_share = np.zeros(len(values.value.n), bool)
    return Estimate.of(adjusted_metrics(values, is_share=is_share).moments)


METHODS: tuple[Method, ...] = (
    Method(name="Welch, per visitor", read=_plain, fits=_is_shop),
    Method(name="CUPED, per visitor", read=_cuped, fits=_is_shop),
    Method(name="Welch, per order", read=_per_order, fits=_is_shop),
    Method(name="CUPED, per order", read=_per_order_cuped, fits=_is_shop),
)
