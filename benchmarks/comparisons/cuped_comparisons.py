"""Speed of 15,000 comparisons with a covariate (CUPED) in one call, against one at a time.

The peers take the slope of the metric on the covariate over both arms together, ours within arms, which an
effect cannot bend; and ours pays for having estimated it with a degree of freedom. With thousands of visitors
that is little: the run stops where a z is off by more than a hundredth.
"""

import sys
from pathlib import Path

import numpy as np
import tea_tasting as tt
from gbstats.frequentist.tests import FrequentistConfig, TwoSidedTTest
from gbstats.models.statistics import RegressionAdjustedStatistic, SampleMeanStatistic, compute_theta
from tea_tasting.aggr import Aggregates

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.comparisons.comparing import (
    ALPHA,
    COMPARISONS,
    RUNS,
    Observed,
    Peer,
    Row,
    observe,
    row,
    timed,
)
from engine.stats import cuped
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist import two_sample
from engine.stats.frequentist.two_sample import Comparison
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

WHAT = "means with a covariate: p, lift interval"
GOAL_OF_TEA_TASTING = 1000
CLOSE_Z = 0.01

# Visitors, both means, both centred sums of squares and the sum of products.
Arm = tuple[int, float, float, float, float, float]


def run() -> list[Row]:
    """Time ours once and each peer."""
    paired = with_covariate(observe())
    ours, found = timed(lambda: compare(paired), RUNS)
    arms = [
        [(int(n), *moments) for n, *moments in np.stack(columns, axis=-1).tolist()]
        for columns in (_columns(paired[:, arm]) for arm in range(2))
    ]
    pairs: list[tuple[Arm, Arm]] = list(zip(*arms, strict=True))
    tea_seconds, tea_z = _tea_tasting(pairs)
    gb_seconds, gb_z = _gbstats(pairs)
    for z in (tea_z, gb_z):
        np.testing.assert_allclose(found.statistic, z, atol=CLOSE_Z)
    return [
        row(WHAT, ours, Peer(name="tea-tasting", seconds=tea_seconds, goal=GOAL_OF_TEA_TASTING)),
        row(WHAT, ours, Peer(name="gbstats", seconds=gb_seconds)),
    ]


def with_covariate(seen: Observed, seed: int = 16) -> PairedMoments:
    """Add to the revenue of `seen` what the same visitors spent before: comparisons by arms.

    The two are correlated by 0.3 to 0.8.
    """
    rng = np.random.default_rng(seed)
    arms = Moments.stack([seen.control, seen.treatment], axis=-1)
    n, mean, m2 = arms.n, arms.mean, arms.m2
    m2_x = n * 2000.0**2 * rng.uniform(0.9, 1.1, n.shape)
    mean_x = 280.0 + rng.normal(0.0, 1.0, n.shape) * np.sqrt(m2_x) / n
    co = rng.uniform(0.3, 0.8, (COMPARISONS, 1)) * np.sqrt(m2 * m2_x)
    return PairedMoments(n, mean_x, mean, m2_x, m2, co)


def compare(paired: PairedMoments) -> Comparison:
    """Adjust both arms and compare them."""
    estimate = Estimate.of(cuped.adjust(paired).moments)
    return two_sample.compare_means(estimate[:, 0], estimate[:, 1], ALPHA)


def _columns(paired: PairedMoments) -> list[FloatArray]:
    return [paired.n, paired.mean_x, paired.mean_y, paired.m2_x, paired.m2_y, paired.co]


def _tea_tasting(pairs: list[tuple[Arm, Arm]]) -> tuple[float, list[float]]:
    metric = tt.Mean("value", "before", equal_var=False)
    aggregates = [
        tuple(
            Aggregates(
                n,
                {"before": mean_x, "value": mean_y},
                {"before": m2_x / (n - 1), "value": m2_y / (n - 1)},
                {("before", "value"): co / (n - 1)},
            )
            for n, mean_x, mean_y, m2_x, m2_y, co in pair
        )
        for pair in pairs
    ]
    seconds, results = timed(lambda: [metric.analyze_aggregates(*pair) for pair in aggregates])
    return seconds, [result.statistic for result in results]


def _gbstats(pairs: list[tuple[Arm, Arm]]) -> tuple[float, list[float]]:
    """Compare absolute differences by gbstats, whose z can be checked; relative ones take as long."""
    statistics = [tuple(_adjusted(*arm) for arm in pair) for pair in pairs]
    absolute = FrequentistConfig(difference_type="absolute", alpha=ALPHA)

    def ask(control: RegressionAdjustedStatistic, variant: RegressionAdjustedStatistic) -> float:
        control.theta = variant.theta = compute_theta(control, variant)
        result = TwoSidedTTest(control, variant, absolute).compute_result()
        z: float = result.uplift.mean / result.uplift.stddev
        return z

    return timed(lambda: [ask(*pair) for pair in statistics])


def _adjusted(  # noqa: PLR0913, PLR0917  # the numbers of an arm
    n: int, mean_x: float, mean_y: float, m2_x: float, m2_y: float, co: float
) -> RegressionAdjustedStatistic:
    before = SampleMeanStatistic(n, n * mean_x, m2_x + n * mean_x**2)
    value = SampleMeanStatistic(n, n * mean_y, m2_y + n * mean_y**2)
    return RegressionAdjustedStatistic(n, value, before, co + n * mean_x * mean_y, theta=0.0)


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
