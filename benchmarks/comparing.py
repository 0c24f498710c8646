"""What the benchmarks of comparisons share: the same numbers for every package, and how they are timed.

Processor time, so that a busy machine slows nobody down. Ours is the fastest of several runs over all
comparisons; a peer runs once, over all of them or, where that would take too long, over the first few.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.contingency import Tables
from engine.stats.moments import Moments

COMPARISONS = 15_000
ALPHA = 0.05
RUNS = 7

Row = dict[str, object]
# Visitors, mean and centred sum of squares.
Arm = tuple[int, float, float]


@dataclass(frozen=True, slots=True)
class Observed:
    """Conversions, and revenue per visitor, of as many pairs of arms as there are comparisons."""

    tables: Tables
    control: Moments
    treatment: Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Who is compared with, how long it took over how many comparisons, and how much faster we should be."""

    name: str
    seconds: float
    comparisons: int = COMPARISONS
    goal: int = 100


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


def share_moments(tables: Tables) -> tuple[Moments, Moments]:
    """Moments of conversions, of the control and of the variant."""
    return Moments.of_shares(tables.control_hits, tables.control_n), Moments.of_shares(tables.hits, tables.n)


def pairs(control: Moments, treatment: Moments) -> list[tuple[Arm, Arm]]:
    """The same as plain numbers, one pair of arms a comparison."""

    def arms(moments: Moments) -> Iterator[Arm]:
        return zip(moments.n.astype(int).tolist(), moments.mean.tolist(), moments.m2.tolist(), strict=True)

    return list(zip(arms(control), arms(treatment), strict=True))


def timed(work: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    """Processor seconds of the fastest run, all threads together, and what the last one found."""
    seconds, found = [], None
    for _ in range(runs):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return min(seconds), found


def demand_same_p(log_p: FloatArray, theirs: list[float]) -> None:
    """Stop unless a peer's p values are ours, as far as theirs can be written down."""
    p = np.array(theirs)
    readable = p > 1e-12
    np.testing.assert_allclose(np.exp(log_p[: p.size][readable]), p[readable], rtol=1e-7)


def row(what: str, ours: float, peer: Peer) -> Row:
    """A line of the table: ours over all comparisons, and how many times as long the peer takes for one."""
    return {
        "what": what,
        "ours": f"{1000 * ours:,.1f} ms",
        "peer": peer.name,
        "peer's": f"{peer.seconds:,.2f} s" + _said_of(peer.comparisons),
        "ratio": f"{peer.seconds / peer.comparisons / (ours / COMPARISONS):,.0f}x",
        "goal": f">= {peer.goal:,}x",
    }


def _said_of(comparisons: int) -> str:
    return "" if comparisons == COMPARISONS else f" for {comparisons:,}"
