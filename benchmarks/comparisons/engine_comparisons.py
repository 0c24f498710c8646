"""Speed of 15,000 comparisons in one call, against packages that make one comparison at a time.

The same numbers for everyone, in the same run, in each package's own input type, built before the clock
starts. Where a peer's p is by our formula, the run stops unless it is ours. spotify-confidence runs in an
environment of its own, with the pandas that it knows.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tea_tasting as tt
from gbstats.frequentist.tests import TwoSidedTTest
from gbstats.models.statistics import ProportionStatistic, SampleMeanStatistic
from tea_tasting.aggr import Aggregates

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.comparisons import spotify
from benchmarks.comparisons.comparing import (
    ALPHA,
    RUNS,
    Observed,
    Peer,
    Row,
    observe,
    pairs,
    require_same_p,
    row,
    share_moments,
    timed,
)
from engine.stats.estimates import Estimate
from engine.stats.frequentist import two_sample
from engine.stats.moments import Moments

GOAL_OF_TEA_TASTING = 1000
# It takes about 13 ms for each.
SPOTIFY_COMPARISONS = 1000


def run() -> list[Row]:
    """Time shares and means: one row a peer."""
    seen = observe()
    return [*_shares(seen), *_means(seen)]


def _shares(seen: Observed) -> Iterator[Row]:
    """Compare two conversion rates: p and the interval of the relative change."""
    what = "shares: p, lift interval"
    ours, found = timed(lambda: two_sample.compare_shares(seen.tables, ALPHA), RUNS)
    control, treatment = share_moments(seen.tables)
    metric, of_tea = tt.Proportion("hit", method="norm", correction=False), _aggregates(control, treatment)
    seconds, results = timed(lambda: [metric.analyze_aggregates(*pair) for pair in of_tea])
    require_same_p(found.log_p, [result.pvalue for result in results])
    yield row(what, ours, Peer(name="tea-tasting", seconds=seconds, goal=GOAL_OF_TEA_TASTING))
    statistics = [
        tuple(ProportionStatistic(n=n, sum=round(share * n)) for n, share, _ in pair)
        for pair in pairs(control, treatment)
    ]
    seconds, _ = timed(lambda: [TwoSidedTTest(*pair).compute_result() for pair in statistics])
    yield row(what, ours, Peer(name="gbstats", seconds=seconds))
    # Its z test does not pool the two shares, so its p is another one.
    asked = spotify.arms(*(_first(moments) for moments in (control, treatment)), is_share=True)
    yield row(what, ours, _spotify(spotify.answer("z-test", asked)))


def _means(seen: Observed) -> Iterator[Row]:
    """Compare two means: Welch's p and the interval of the relative change."""
    what = "means: p, lift interval"
    ours, found = timed(
        lambda: two_sample.compare_means(Estimate.of(seen.control), Estimate.of(seen.treatment), ALPHA), RUNS
    )
    metric, of_tea = tt.Mean("hit", equal_var=False), _aggregates(seen.control, seen.treatment)
    seconds, results = timed(lambda: [metric.analyze_aggregates(*pair) for pair in of_tea])
    require_same_p(found.log_p, [result.pvalue for result in results])
    yield row(what, ours, Peer(name="tea-tasting", seconds=seconds, goal=GOAL_OF_TEA_TASTING))
    statistics = [
        tuple(SampleMeanStatistic(n, n * mean, m2 + n * mean * mean) for n, mean, m2 in pair)
        for pair in pairs(seen.control, seen.treatment)
    ]
    seconds, _ = timed(lambda: [TwoSidedTTest(*pair).compute_result() for pair in statistics])
    yield row(what, ours, Peer(name="gbstats", seconds=seconds))
    answer = spotify.answer("t-test", spotify.arms(_first(seen.control), _first(seen.treatment)))
    require_same_p(found.log_p, answer.p.tolist())
    yield row(what, ours, _spotify(answer))


def _aggregates(control: Moments, treatment: Moments) -> list[tuple[Aggregates, ...]]:
    return [
        tuple(Aggregates(n, {"hit": mean}, {"hit": m2 / (n - 1)}) for n, mean, m2 in pair)
        for pair in pairs(control, treatment)
    ]


def _first(moments: Moments) -> Moments:
    return moments[np.arange(SPOTIFY_COMPARISONS)]


def _spotify(answer: spotify.Answer) -> Peer:
    return Peer(name=spotify.NAME, seconds=answer.seconds, comparisons=SPOTIFY_COMPARISONS)


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
