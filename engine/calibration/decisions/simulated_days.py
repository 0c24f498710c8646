"""Simulated tests day by day: cumulative visitors, conversions and revenue, many runs at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.visitor_values import no_pairs
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.measure_errors.simulated_visitors import ArmSums
from engine.calibration.trials import ORDERS, OrderShape
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

_Number = TypeVar("_Number", bound=np.generic)
# Days after the visit by which every conversion has arrived.
_LAST_LAG: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDays:
    """Totals at the end of each day: R runs, D days, G goals, V variants, the control first.

    `entered` visitors and those with a known outcome, `visitors`, (D, V), are alike in all runs;
    `conversions` and the metric's `moments`, of known outcomes, are (R, D, G, V). Of measures `sums` are
    those of the visitors, `ratios` their pairs after adjustment, empty of what is no ratio, and `quantiles`
    the values of each run, day and goal.
    """

    case: DecisionCase
    entered: FloatArray
    visitors: FloatArray
    conversions: FloatArray
    moments: Moments
    sums: ArmSums | None = None
    ratios: PairedMoments = field(default_factory=lambda: no_pairs(()))
    quantiles: Sequence[Sequence[Sequence[QuantileEvidence]]] | None = None


def simulate_days(
    case: DecisionCase, lifts: FloatArray, *, days: int, runs: int, rng: np.random.Generator
) -> SimulatedDays:
    """Simulate tests with the true `lifts`, goals by variants.

    The lift is of the conversion rate, or of the amounts for revenue.
    """
    daily = np.floor(case.daily_visitors * case.traffic(days)[:, None])
    shape = (runs, days, case.goals, daily.shape[1])
    rates = case.rate * (np.ones(lifts.shape) if case.orders else 1.0 + lifts)
    counts = np.broadcast_to(daily.astype(np.int64)[:, None, :], shape)
    converted = rng.binomial(counts, np.minimum(rates, 1.0), shape)
    if case.delay:
        converted = _arrivals(converted, case.delay, rng)
    if case.known_after:
        converted = _later(converted, case.known_after)
    entered = daily.cumsum(axis=0)
    visitors = _later(entered[None], case.known_after)[0]
    conversions = converted.cumsum(axis=1).astype(np.float64)
    each = np.broadcast_to(visitors[:, None, :], shape)
    moments = (
        Moments.of_shares(conversions, each)
        if case.orders is None
        else _revenue(case.orders, converted, each, 1.0 + lifts, rng)
    )
    return SimulatedDays(
        case=case, entered=entered, visitors=visitors, conversions=conversions, moments=moments
    )


def _later(counts: npt.NDArray[_Number], days: int) -> npt.NDArray[_Number]:
    """Move the counts of each day, along the second axis, to so many days later; zeros come first."""
    moved = np.zeros_like(counts)
    moved[:, days:] = counts[:, : counts.shape[1] - days]
    return moved


def _arrivals(converted: IntArray, delay: float, rng: np.random.Generator) -> IntArray:
    """Spread each day's conversions over later days: geometric delays, all within _LAST_LAG days."""
    left, arrived = converted, np.zeros_like(converted)
    days, at_once = converted.shape[1], 1.0 / (1.0 + delay)
    for lag in range(min(_LAST_LAG, days - 1) + 1):
        now = left if lag == _LAST_LAG else rng.binomial(left, at_once)
        arrived[:, lag:] += now[:, : days - lag]
        left = left - now
    return arrived


def _revenue(
    shape: OrderShape,
    buyers: IntArray,
    visitors: FloatArray,
    factors: FloatArray,
    rng: np.random.Generator,
) -> Moments:
    """Draw an order of every buyer, and add up sums of powers over the days."""
    orders = ORDERS[shape](rng, int(buyers.sum()))
    cells = np.repeat(np.arange(buyers.size), buyers.ravel())
    sums = []
    for power in (1, 2, 3):
        by_cell = np.bincount(cells, orders**power, buyers.size).reshape(buyers.shape)
        sums.append((by_cell * factors**power).cumsum(axis=1))
    first, second, third = sums
    mean = first / np.maximum(visitors, 1.0)
    m2 = np.maximum(second - first * mean, 0.0)
    m3 = third - 3.0 * mean * second + 2.0 * visitors * mean**3
    return Moments(np.array(visitors), mean, m2, m3)
