"""Errors on each side of A/A tests, against gbstats and tea-tasting on the same simulated visitors.

Twelve cells of `truelift calibrate --only measures`, with nine visitors of the control for one of the
variant. Both peers are asked for what they test by default: gbstats for the relative change, tea-tasting for
Welch's test.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import tea_tasting as tt
from gbstats.frequentist.tests import FrequentistConfig, TwoSidedTTest
from gbstats.models.statistics import (
    RatioStatistic,
    RegressionAdjustedStatistic,
    SampleMeanStatistic,
    compute_theta,
)
from tea_tasting.aggr import Aggregates

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.calibration.measure_errors.error_sides import judge_sums
from engine.calibration.measure_errors.measure_cells import CELLS, MeasureCell, SummedShape
from engine.calibration.measure_errors.simulated_visitors import ArmSums
from engine.stats.arrays import FloatArray, IntArray

RUNS: Final = 2_000
ALPHA: Final = 0.05
SPLIT: Final = (1_800, 200)
BLOCK: Final = 200

# One run's arm: the values of every field.
Arm = Any
Asked = Callable[[Arm, Arm], tuple[float, float]]


def run() -> list[dict[str, str]]:
    """Simulate A/A tests of each cell, and count who is called better or worse."""
    return [_row(cell, cell.shape) for cell in CELLS if cell.arms == SPLIT and _is_of_means(cell)]


def _is_of_means(cell: MeasureCell) -> bool:
    """Leave out what no peer tests by sums, conversions, and money that hardly anyone returns."""
    shape = cell.shape
    return isinstance(shape, SummedShape) and not shape.goal.is_share and "0.5%" not in shape.name


def _row(cell: MeasureCell, shape: Any) -> dict[str, str]:  # noqa: ANN401  # a SummedShape
    rng = np.random.default_rng(20)
    arms = ArmSums.concatenate(
        [
            ArmSums.stack([shape.draw(rng, (BLOCK, visitors), 1.0) for visitors in SPLIT], axis=1)
            for _ in range(RUNS // BLOCK)
        ]
    )
    ours = judge_sums(cell, shape.goal, arms, 0.0)
    called = ours.verdict[:, 0]
    row = {"measure": shape.measure, "values": shape.name}
    row["ours"] = _sides(called[ours.has_status[:, 0]])
    for name, ask in (("gbstats", _gbstats), ("tea-tasting", _tea_tasting)):
        row[name] = _asked(ask, arms)
    return row


def _asked(ask: Asked, arms: ArmSums) -> str:
    found = np.array([ask(arms[run, 0], arms[run, 1]) for run in range(len(arms.nonzero))])
    if np.isnan(found[:, 1]).all():
        return "none"
    return _sides(np.where(found[:, 1] <= ALPHA, np.sign(found[:, 0]), 0.0))


def _sides(called: FloatArray | IntArray) -> str:
    """Write the percent called better and worse."""
    if not len(called):
        return "no status"
    return f"{100 * np.mean(called > 0):.1f} / {100 * np.mean(called < 0):.1f}"


def _gbstats(control: Arm, variant: Arm) -> tuple[float, float]:
    """Test the relative change; nothing where both a ratio and a covariate are given."""
    if control.orders.n > 0 and control.before.n > 0:
        return np.nan, np.nan
    first, second = (_statistic(arm) for arm in (control, variant))
    if isinstance(first, RegressionAdjustedStatistic):
        first.theta = second.theta = compute_theta(first, second)
    result = TwoSidedTTest(first, second, FrequentistConfig(alpha=ALPHA)).compute_result()
    return result.expected, np.nan if result.p_value is None else result.p_value


def _statistic(arm: Arm) -> Any:  # noqa: ANN401  # one of gbstats' statistics
    n = int(arm.value.n)
    value = _sum_of(n, arm.value.mean, arm.value.m2)
    pairs = arm.orders if arm.orders.n > 0 else arm.before
    if not pairs.n > 0:
        return value
    other = _sum_of(n, pairs.mean_x, pairs.m2_x)
    products = float(pairs.co + n * pairs.mean_x * pairs.mean_y)
    if arm.orders.n > 0:
        return RatioStatistic(n, value, other, products)
    return RegressionAdjustedStatistic(n, value, other, products, theta=0.0)


def _sum_of(n: int, mean: FloatArray, m2: FloatArray) -> SampleMeanStatistic:
    return SampleMeanStatistic(n, float(n * mean), float(m2 + n * mean**2))


def _tea_tasting(control: Arm, variant: Arm) -> tuple[float, float]:
    covariate = "z" if control.before.n > 0 else None
    metric: Any = tt.RatioOfMeans("y", "x", covariate) if control.orders.n > 0 else tt.Mean("y", covariate)
    result = metric.analyze_aggregates(*(_aggregates(arm) for arm in (control, variant)))
    return result.treatment - result.control, result.pvalue


def _aggregates(arm: Arm) -> Aggregates:
    n = int(arm.value.n)
    means, variances = {"y": float(arm.value.mean)}, {"y": float(arm.value.m2) / (n - 1)}
    covariances = {}
    for names, pairs in (
        (("x", "y"), arm.orders),
        (("y", "z"), arm.before),
        (("x", "z"), arm.before_orders),
    ):
        if pairs.n > 0:
            covariances[names] = float(pairs.co) / (n - 1)
    for name, pairs in (("x", arm.orders), ("z", arm.before)):
        if pairs.n > 0:
            means[name], variances[name] = float(pairs.mean_x), float(pairs.m2_x) / (n - 1)
    return Aggregates(n, means, variances, covariances)


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(26) for value in line.values()))
