"""How fast 15,000 comparisons are in one call, against packages that make one comparison at a time.

The same numbers for everyone, in the same run, in each package's own input type, built before the clock
starts. Processor time, so that a busy machine slows nobody down; a peer makes all 15,000 comparisons once,
ours is the fastest of several runs. Where a peer's p is by our formula, the run stops unless it is ours.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tea_tasting as tt
from gbstats.bayesian.tests import EffectBayesianABTest
from gbstats.frequentist.tests import TwoSidedTTest
from gbstats.models.statistics import ProportionStatistic, SampleMeanStatistic
from tea_tasting.aggr import Aggregates

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.analysis import bayesian, frequentist
from engine.analysis.estimates import Estimate
from engine.analysis.moments import FloatArray, Moments
from engine.analysis.tables import Tables

COMPARISONS = 15_000
ALPHA = 0.05
GOAL = 100
RUNS = 7

Row = dict[str, object]
Arm = tuple[int, float, float]


@dataclass(frozen=True, slots=True)
class Observed:
    """Conversions, and revenue per visitor, of as many pairs of arms as there are comparisons."""

    tables: Tables
    control: Moments
    treatment: Moments


def observe(seed: int = 15) -> Observed:
    """Draw arms of 5,000 to 200,000 visitors who convert in 1% to 30% of cases and spend a few dollars."""
    rng = np.random.default_rng(seed)
    control_n, n = rng.integers(5_000, 200_000, (2, COMPARISONS)).astype(np.float64)
    rate = rng.uniform(0.01, 0.30, COMPARISONS)
    control_hits = rng.binomial(control_n.astype(np.int64), rate)
    hits = rng.binomial(n.astype(np.int64), rate * rng.uniform(0.95, 1.05, COMPARISONS))

    def money(visitors: FloatArray) -> Moments:
        mean = rng.normal(300.0, 5.0, COMPARISONS)
        return Moments(visitors, mean, visitors * (8.0 * mean) ** 2)

    return Observed(Tables.of(control_hits, control_n, hits, n), money(control_n), money(n))


def run() -> list[Row]:
    """Time every kind of comparison: one row a peer."""
    seen = observe()
    return [*_shares(seen), *_means(seen), *_posteriors(seen)]


def _shares(seen: Observed) -> Iterator[Row]:
    """Two conversion rates: p and the interval of the relative change."""
    what = "shares: p, lift interval"
    ours, found = _timed(lambda: frequentist.compare_shares(seen.tables, ALPHA), RUNS)
    metric = tt.Proportion("hit", method="norm", correction=False)
    aggregates = [
        tuple(Aggregates(n, {"hit": share}, {"hit": m2 / (n - 1)}) for n, share, m2 in pair)
        for pair in _pairs(*_share_moments(seen.tables))
    ]
    theirs, results = _timed(lambda: [metric.analyze_aggregates(*pair) for pair in aggregates])
    _demand_same_p(found.log_p, [result.pvalue for result in results])
    yield _row(what, ours, "tea-tasting", theirs)
    statistics = _proportions(seen.tables)
    theirs, _ = _timed(lambda: [TwoSidedTTest(*pair).compute_result() for pair in statistics])
    yield _row(what, ours, "gbstats", theirs)


def _means(seen: Observed) -> Iterator[Row]:
    """Two means: Welch's p and the interval of the relative change."""
    what = "means: p, lift interval"
    ours, found = _timed(
        lambda: frequentist.compare_means(Estimate.of(seen.control), Estimate.of(seen.treatment), ALPHA), RUNS
    )
    metric, pairs = tt.Mean("value", equal_var=False), _pairs(seen.control, seen.treatment)
    aggregates = [
        tuple(Aggregates(n, {"value": mean}, {"value": m2 / (n - 1)}) for n, mean, m2 in pair)
        for pair in pairs
    ]
    theirs, results = _timed(lambda: [metric.analyze_aggregates(*pair) for pair in aggregates])
    _demand_same_p(found.log_p, [result.pvalue for result in results])
    yield _row(what, ours, "tea-tasting", theirs)
    statistics = [
        tuple(SampleMeanStatistic(n, n * mean, m2 + n * mean * mean) for n, mean, m2 in pair)
        for pair in pairs
    ]
    theirs, _ = _timed(lambda: [TwoSidedTTest(*pair).compute_result() for pair in statistics])
    yield _row(what, ours, "gbstats", theirs)


def _posteriors(seen: Observed) -> Iterator[Row]:
    """Two conversion rates: chance to beat, expected loss and credible interval of the relative change."""
    ours, _ = _timed(
        lambda: (bayesian.compare_shares(seen.tables), bayesian.share_lift(seen.tables, ALPHA)), RUNS
    )
    statistics = _proportions(seen.tables)
    theirs, _ = _timed(lambda: [EffectBayesianABTest(*pair).compute_result() for pair in statistics])
    yield _row("shares: chance, loss, lift interval", ours, "gbstats (normal)", theirs)


def _share_moments(tables: Tables) -> tuple[Moments, Moments]:
    return Moments.of_shares(tables.control_hits, tables.control_n), Moments.of_shares(tables.hits, tables.n)


def _pairs(control: Moments, treatment: Moments) -> list[tuple[Arm, Arm]]:
    def arms(moments: Moments) -> Iterator[Arm]:
        return zip(moments.n.astype(int).tolist(), moments.mean.tolist(), moments.m2.tolist(), strict=True)

    return list(zip(arms(control), arms(treatment), strict=True))


def _proportions(tables: Tables) -> list[tuple[ProportionStatistic, ...]]:
    return [
        tuple(ProportionStatistic(n=n, sum=round(share * n)) for n, share, _ in pair)
        for pair in _pairs(*_share_moments(tables))
    ]


def _timed(work: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    """Processor seconds of the fastest run, all threads together, and what the last one found."""
    seconds, found = [], None
    for _ in range(runs):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return min(seconds), found


def _demand_same_p(log_p: FloatArray, theirs: list[float]) -> None:
    """Stop unless a peer's p values are ours, as far as theirs can be written down."""
    p = np.array(theirs)
    readable = p > 1e-12
    np.testing.assert_allclose(np.exp(log_p[readable]), p[readable], rtol=1e-7)


def _row(what: str, ours: float, peer: str, theirs: float) -> Row:
    return {
        "what": what,
        "comparisons": f"{COMPARISONS:,}",
        "ours": f"{1000 * ours:,.1f} ms",
        "peer": peer,
        "peer's": f"{theirs:,.2f} s",
        "ratio": f"{theirs / ours:,.0f}x",
        "goal": f">= {GOAL}x",
    }


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
