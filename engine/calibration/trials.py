"""Simulated trials: conversions or revenue at the end of each day, many runs at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from engine.design.planning.sample_size import (
    Mean,
    Metric,
    Plan,
    Share,
    detectable_lift,
)
from engine.stats.arrays import FloatArray
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants

OrderShape = Literal["lognormal", "pareto"]

LEVEL = 95
DAYS = 28

# Below this many visitors per arm, the label shows the number.
_FEW = 500

# Shape 2.5 has a variance but no skewness: about as heavy as a tail may be for a test of means.
PARETO_SHAPE = 2.5
# Deviation of simulated orders on the log scale, as in engine.simulation.visitors.
LOG_DEVIATION = 1.0
# Draws of so many orders with a mean of 1.
ORDERS: Mapping[OrderShape, Callable[[np.random.Generator, int], FloatArray]] = MappingProxyType(
    {
        "lognormal": lambda rng, count: rng.lognormal(-(LOG_DEVIATION**2) / 2, LOG_DEVIATION, count),
        "pareto": lambda rng, count: (1.0 + rng.pareto(PARETO_SHAPE, count)) * (1.0 - 1.0 / PARETO_SHAPE),
    }
)
# The mean of the square of an order, where its mean is 1.
_ORDER_SQUARES: Mapping[OrderShape, float] = MappingProxyType(
    {
        "lognormal": float(np.exp(LOG_DEVIATION**2)),
        "pareto": (PARETO_SHAPE - 1.0) ** 2 / (PARETO_SHAPE * (PARETO_SHAPE - 2.0)),
    }
)


def check_shape(orders: str | None) -> None:
    """Raise ValueError for a shape of orders that does not exist."""
    if orders is not None and orders not in ORDERS:
        raise ValueError(f"orders are {' or '.join(map(repr, ORDERS))}, not {orders!r}")


def order_variance(orders: OrderShape, rate: float) -> float:
    """Compute the variance of revenue per visitor, where a share `rate` buys once, for 1 on average."""
    return rate * _ORDER_SQUARES[orders] - rate**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A case with daily looks; `rate` is the control's share of visitors who convert or buy.

    Each of `arms` gets `visitors` over DAYS days, evenly. With `orders` the metric is revenue per visitor,
    with orders of 1 on average; otherwise it is the conversion rate.
    """

    rate: float
    visitors: int
    arms: int = 2
    orders: OrderShape | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a setting that cannot be simulated."""
        if not 0 < self.rate < 1 or self.visitors < DAYS or self.arms < 2:
            raise ValueError(f"a rate between 0 and 1, {DAYS} visitors and 2 arms at least; got {self}")
        check_shape(self.orders)

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        metric = self.orders or f"{self.rate * 100:g}% convert"
        return f"{metric}, {self.arms} {'arms' if self.visitors >= _FEW else f'x {self.visitors}'}"

    @property
    def metric(self) -> str:
        """The metric that is simulated."""
        return self.orders or "conversion"

    @property
    def mean(self) -> float:
        """The control's true mean per visitor: an order is 1 on average."""
        return self.rate

    @property
    def detectable(self) -> float:
        """The lift that one test at the Bonferroni level detects with 80% power."""
        metric: Metric = Share(self.rate)
        if self.orders:
            metric = Mean(self.rate, np.sqrt(order_variance(self.orders, self.rate)))
        plan = Plan(alpha=1.0 - LEVEL / 100, power=0.8, comparisons=self.arms - 1)
        return detectable_lift(metric, self.visitors, plan).item()

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Trials":
        """Simulate `runs` experiments; the last arm has the lift."""
        return draw_trials(self, lift=lift, runs=runs, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Cumulative counts of simulated runs: runs by days by arms, the control first.

    `converted` counts conversions, `moments` are of the metric per visitor. The last arm's true mean is
    `lift` above the control's; the other arms equal the control.
    """

    setting: Setting
    lift: float
    converted: FloatArray
    moments: Moments

    @property
    def lifts(self) -> FloatArray:
        """True lift of each comparison with the control."""
        return lifts_of_last(self.setting.arms, self.lift)

    @property
    def observed_lift(self) -> FloatArray:
        """Observed lift by each day, over the control's true mean."""
        return (self.moments.mean[..., 1:] - self.moments.mean[..., :1]) / self.setting.mean

    @property
    def tables(self) -> Tables:
        """Two-by-two tables of each variant against the control."""
        hits, n = self.converted, self.moments.n
        return Tables.of(hits[..., :1], n[..., :1], hits[..., 1:], n[..., 1:])

    @property
    def estimates(self) -> tuple[Estimate, Estimate]:
        """Means of the control, repeated for each variant, and of the variants."""
        control = self.moments[..., :1].broadcast_to(self.moments[..., 1:].n.shape)
        return Estimate.of(control), Estimate.of(self.moments[..., 1:])

    @property
    def skewness(self) -> FloatArray:
        """Skewness of the difference of each variant's mean and the control's."""
        variants = self.moments[..., 1:]
        return PooledCumulants.of(self.moments[..., :1].broadcast_to(variants.n.shape), variants).skewness()

    def at_the_end(self) -> "Trials":
        """Take the last day alone."""
        return Trials(
            setting=self.setting,
            lift=self.lift,
            converted=self.converted[:, -1:],
            moments=self.moments[:, -1:],
        )


def draw_trials(setting: Setting, *, lift: float, runs: int, rng: np.random.Generator) -> Trials:
    """Simulate `runs` experiments; the lift is of the conversion rate, or of order values for revenue."""
    a_day = setting.visitors // DAYS
    shape = (runs, DAYS, setting.arms)
    lifts = np.ones(setting.arms)
    lifts[-1] += lift
    converting = np.full(setting.arms, setting.rate) * (1.0 if setting.orders else lifts)
    hits = rng.binomial(a_day, np.minimum(converting, 1.0), shape)
    converted = hits.cumsum(axis=1).astype(np.float64)
    visitors = np.broadcast_to(a_day * np.arange(1.0, DAYS + 1)[:, None], shape)
    if setting.orders is None:
        moments = Moments.of_shares(converted, visitors)
    else:
        orders = ORDERS[setting.orders](rng, int(hits.sum()))
        cells = np.repeat(np.arange(hits.size), hits.ravel())
        spent = Moments.of_groups(orders * lifts[cells % setting.arms], cells, hits.size)
        daily = spent.map(lambda part: part.reshape(shape))
        moments = _cumulative(daily.merge(Moments.of_shares(np.zeros(shape), a_day - daily.n)))
    return Trials(setting=setting, lift=lift, converted=converted, moments=moments)


def _cumulative(daily: Moments) -> Moments:
    """Merge every day with all days before it."""
    days = [daily[:, 0]]
    for day in range(1, DAYS):
        days.append(days[-1].merge(daily[:, day]))
    return Moments.stack(days, axis=1)


def lifts_of_last(arms: int, lift: float) -> FloatArray:
    """True lift of each comparison with the control, where only the last arm has a lift."""
    return np.append(np.zeros(arms - 2), lift)
