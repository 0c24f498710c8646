"""Simulated visitors with known effects, from a seed.

Times are epoch microseconds in UTC, money is in cents, rates and lifts are shares.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.stats.arrays import BoolArray, FloatArray, IntArray

DAY_US = 86_400_000_000

# Shares are round numbers of our own making, shaped like a mid-sized shop with a mostly mobile audience.
SHOP_SEGMENTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "device_type": {"mobile": 0.61, "desktop": 0.33, "tablet": 0.06},
        "country": {"US": 0.44, "DE": 0.17, "GB": 0.15, "FR": 0.12, "CA": 0.08, "JP": 0.04},
        "visitor_type": {"new": 0.68, "returning": 0.32},
        "traffic_source": {"organic": 0.38, "paid": 0.27, "direct": 0.19, "social": 0.11, "email": 0.05},
        "browser": {"Chrome": 0.58, "Safari": 0.29, "Firefox": 0.08, "Edge": 0.05},
        "os": {"Android": 0.36, "iOS": 0.29, "Windows": 0.24, "macOS": 0.11},
        "utm_campaign": {"(none)": 0.72, "autumn_sale": 0.18, "retargeting": 0.10},
    }
)

# How much likelier than average a visitor with this attribute is to buy.
SHOP_APPETITE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "device_type": {"mobile": 0.8, "desktop": 1.4, "tablet": 1.0},
        "visitor_type": {"new": 0.75, "returning": 1.5},
        "traffic_source": {"email": 1.6, "paid": 0.9},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Visitors to simulate: number, days, attributes, and outcomes without an effect.

    `base_rate` is the mean share that converts; `order_cents` the mean order; `order_sigma` the standard
    deviation of its logarithm (1.0 gives a heavy tail); `loyalty` how strongly a visitor's earlier
    spending predicts the next (the correlation that variance reduction can use), in [0, 1).
    """

    visitors: int
    days: int = 28
    start_us: int = 0
    base_rate: float = 0.05
    order_cents: float = 6_500.0
    order_sigma: float = 0.9
    loyalty: float = 0.6
    segments: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: SHOP_SEGMENTS)
    appetite: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: SHOP_APPETITE)

    def __post_init__(self) -> None:
        """Raise ValueError for parameters that cannot be simulated."""
        if self.visitors < 1 or self.days < 1:
            raise ValueError("a population needs at least one visitor and one day")
        if not 0 < self.base_rate < 1:
            raise ValueError(f"base_rate is a share between 0 and 1, not {self.base_rate}")
        if not 0 <= self.loyalty < 1:
            raise ValueError(f"loyalty is a correlation from 0 up to but not including 1, not {self.loyalty}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """True effect of one arm: relative lifts over the control (0.05 is five percent more)."""

    conversion_lift: float = 0.0
    order_value_lift: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for a lift that leaves less than nothing."""
        for name, lift in (("conversion", self.conversion_lift), ("order value", self.order_value_lift)):
            if not -1.0 <= lift < math.inf:
                raise ValueError(f"a lift of the {name} is a share of at least -1, not {lift}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitors:
    """N visitors: `segments` are arrays of N names; `appetite` is the log of the propensity to buy.

    `earlier_cents` is the spend before the first visit: a covariate that no arm affects.
    """

    arrived_us: IntArray
    segments: Mapping[str, npt.NDArray[Any]]
    appetite: FloatArray
    earlier_cents: IntArray

    @property
    def count(self) -> int:
        """Number of visitors."""
        return len(self.arrived_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Outcomes of N visitors: `order_cents` and `converted_us` are 0 where `converted` is false."""

    converted: BoolArray
    converted_us: IntArray
    order_cents: IntArray


def simulate_visitors(population: Population, *, seed: int) -> Visitors:
    """Draw visitors in order of arrival; the same seed gives the same visitors."""
    rng = np.random.default_rng(seed)
    count = population.visitors
    segments = {
        name: rng.choice(np.array(list(shares)), size=count, p=np.array(list(shares.values())))
        for name, shares in population.segments.items()
    }
    latent = rng.standard_normal(count)
    return Visitors(
        arrived_us=_arrivals(population, rng),
        segments=segments,
        appetite=latent * population.loyalty + _log_appetite(population, segments),
        earlier_cents=_earlier_spending(population, latent, rng),
    )


def simulate_outcomes(
    population: Population, visitors: Visitors, arms: IntArray, effects: Sequence[Effect], *, seed: int
) -> Outcomes:
    """Draw the outcomes of visitors with arm `arms[i]` under the effect `effects[arms[i]]`.

    The mean conversion share of an arm is `base_rate * (1 + conversion_lift)` and the mean order
    `order_cents * (1 + order_value_lift)`, up to sampling; orders are lognormal.
    """
    rng = np.random.default_rng(seed)
    lift = np.array([effect.conversion_lift for effect in effects])[arms]
    value_lift = np.array([effect.order_value_lift for effect in effects])[arms]
    eagerness = np.exp(visitors.appetite)
    chance = np.clip(population.base_rate * eagerness / eagerness.mean() * (1.0 + lift), 0.0, 1.0)
    converted = rng.random(visitors.count) < chance
    sigma = population.order_sigma
    # The lognormal's mean is exp(mu + sigma^2 / 2): mu is chosen to match the mean.
    mu = np.log(population.order_cents) - sigma**2 / 2
    cents = np.exp(mu + sigma * rng.standard_normal(visitors.count)) * (1.0 + value_lift)
    delay = rng.exponential(30 * 60 * 1_000_000, visitors.count)
    return Outcomes(
        converted=converted,
        converted_us=np.where(converted, visitors.arrived_us + delay.astype(np.int64), 0),
        order_cents=np.where(converted, np.maximum(cents.round(), 1).astype(np.int64), 0),
    )


def _arrivals(population: Population, rng: np.random.Generator) -> IntArray:
    """Draw arrival times over whole days: quieter weekends, busier evenings."""
    weekday = (np.arange(population.days) + population.start_us // DAY_US + 3) % 7
    day_weight = np.where(weekday >= 5, 0.8, 1.0)
    day = rng.choice(population.days, size=population.visitors, p=day_weight / day_weight.sum())
    hour = np.clip(rng.normal(15.5, 4.5, population.visitors), 0.0, 23.999)
    arrived = population.start_us + day * DAY_US + (hour * 3_600_000_000).astype(np.int64)
    return np.sort(arrived)


def _log_appetite(population: Population, segments: Mapping[str, npt.NDArray[Any]]) -> FloatArray:
    """The sum of the logs of every attribute's factor."""
    total = np.zeros(population.visitors)
    for name, factors in population.appetite.items():
        if name in segments:
            values, index = np.unique(segments[name], return_inverse=True)
            total += np.log(np.array([factors.get(str(value), 1.0) for value in values]))[index]
    return total


def _earlier_spending(population: Population, latent: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw the spend before the first visit: 0 for most, and larger with the propensity to buy."""
    noise = rng.standard_normal(population.visitors) * np.sqrt(1.0 - population.loyalty**2)
    drive = latent * population.loyalty + noise
    spent = np.where(drive > 0.5, population.order_cents * np.exp(drive - 1.0), 0.0)
    return np.asarray(spent.round(), dtype=np.int64)
