"""Simulated tests of a measure day by day: sums over its visitors, or their values, since the first day."""

from typing import Final

import numpy as np

from engine.analysis.comparison.metrics import adjusted_metrics
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays
from engine.calibration.measure_errors.measure_cells import QuantileShape, SummedShape
from engine.calibration.measure_errors.simulated_visitors import ArmSums
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.moments import Moments
from engine.stats.value_buckets import bucket_of, counted

# Visitors in memory at a time.
_AT_A_TIME: Final = 400_000


def simulate_measure(
    case: DecisionCase, lifts: FloatArray, *, days: int, runs: int, rng: np.random.Generator
) -> SimulatedDays:
    """Simulate tests of the case's `values` with the true `lifts`, goals by variants."""
    entered, visitors = _entered(case, days), case.daily_visitors.astype(np.int64)
    if isinstance(case.values, QuantileShape):
        return _simulate_quantiles(case, case.values, lifts, looks=(runs, days), rng=rng)
    if case.values is None:
        raise ValueError(f"{case.name} is no measure")
    sums = ArmSums.stack(
        [
            ArmSums.stack(
                [
                    _cumulative_sums(case.values, 1.0 + lift, (runs, days, count), rng)
                    for count, lift in zip(visitors.tolist(), of_goal, strict=True)
                ],
                axis=-1,
            )
            for of_goal in lifts.tolist()
        ],
        axis=2,
    )
    shape = sums.nonzero.shape
    # Each goal of each look stands for a goal of an experiment.
    looks = sums.rearranged(lambda part: part.reshape(-1, shape[-1]))
    metrics = adjusted_metrics(looks.values(), is_share=np.zeros(len(looks.nonzero), bool))
    return SimulatedDays(
        case=case,
        entered=entered,
        visitors=entered,
        conversions=sums.nonzero,
        moments=metrics.moments.rearranged(lambda part: part.reshape(shape)),
        ratios=metrics.ratios.rearranged(lambda part: part.reshape(shape)),
        sums=sums,
    )


def _entered(case: DecisionCase, days: int) -> FloatArray:
    return np.asarray(case.daily_visitors * np.arange(1.0, days + 1)[:, None])


def _cumulative_sums(
    shape: SummedShape, factor: float, drawn: tuple[int, int, int], rng: np.random.Generator
) -> ArmSums:
    """Draw an arm, runs by days by visitors of a day, and merge the days up to each."""
    runs, days, visitors = drawn
    step = max(_AT_A_TIME // (days * visitors), 1)
    blocks = [
        shape.draw(rng, (min(step, runs - start) * days, visitors), factor) for start in range(0, runs, step)
    ]
    daily = ArmSums.concatenate(blocks).rearranged(lambda part: part.reshape(runs, days))
    merged = [daily[:, 0]]
    for day in range(1, days):
        merged.append(_merge(merged[-1], daily[:, day]))
    return ArmSums.stack(merged, axis=1)


def _merge(first: ArmSums, second: ArmSums) -> ArmSums:
    value, orders = first.value.merge(second.value), first.orders.merge(second.orders)
    before = first.before.merge(second.before)
    triple = np.zeros(value.n.shape)
    for part in (first, second):
        z, y, x = (
            part.before.mean_x - before.mean_x,
            part.value.mean - value.mean,
            part.orders.mean_x - orders.mean_x,
        )
        triple += part.triple + z * part.orders.co + y * part.before_orders.co + x * part.before.co
        triple += part.value.n * z * y * x
    return ArmSums(
        value=value,
        orders=orders,
        before=before,
        before_orders=first.before_orders.merge(second.before_orders),
        triple=triple,
        nonzero=first.nonzero + second.nonzero,
        largest_orders=np.maximum(first.largest_orders, second.largest_orders),
    )


def _simulate_quantiles(
    case: DecisionCase,
    shape: QuantileShape,
    lifts: FloatArray,
    *,
    looks: tuple[int, int],
    rng: np.random.Generator,
) -> SimulatedDays:
    runs, days = looks
    entered = _entered(case, days)
    daily = case.daily_visitors.astype(np.int64).tolist()

    def arm(count: int, lift: float) -> list[ValueCounts]:
        return _cumulative_counts(bucket_of(shape.quantiles(rng.random((days, count)), 1.0 + lift)))

    found = [
        [[arm(count, lift) for count, lift in zip(daily, goal, strict=True)] for goal in lifts.tolist()]
        for _ in range(runs)
    ]
    quantiles = [
        [[QuantileEvidence(shape.shares[0], arms) for arms in zip(*goal, strict=True)] for goal in run]
        for run in found
    ]
    by_day = [list(zip(*run, strict=True)) for run in quantiles]
    moments = Moments.stack(
        [Moments.stack([Moments.stack([goal.moments() for goal in day]) for day in run]) for run in by_day]
    )
    return SimulatedDays(
        case=case,
        entered=entered,
        visitors=entered,
        conversions=np.array(
            [[[[_nonzero(one) for one in goal.arms] for goal in day] for day in run] for run in by_day]
        ),
        moments=moments,
        quantiles=by_day,
    )


def _cumulative_counts(buckets: IntArray) -> list[ValueCounts]:
    """Count the values of visitors, days by visitors of a day, up to each day."""
    distinct, places = np.unique(buckets, return_inverse=True)
    width, days = len(distinct), len(buckets)
    rows = places.reshape(buckets.shape) + width * np.arange(days)[:, None]
    counts = np.bincount(rows.ravel(), minlength=days * width).reshape(days, width).cumsum(axis=0)
    return [counted(distinct[row > 0], row[row > 0]) for row in counts]


def _nonzero(arm: ValueCounts) -> float:
    return float(arm.counts[arm.values != 0].sum())
