"""Inputs, timing and table rows that the benchmarks of comparisons share.

Processor time, so that the load of the machine matters less. Ours is the fastest of several runs over all
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
    """Conversions and revenue per visitor of a pair of arms for each comparison."""

    tables: Tables
    control: Moments
    treatment: Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer package: its time, its number of comparisons, and the speed-up to reach."""

    name: str
    seconds: float
    comparisons: int = COMPARISONS
    goal: int = 100


def observe(seed: int = 15) -> Observed:
    """Draw arms of 5,000 to 200,000 visitors, rates of 1% to 30% and a few dollars of revenue."""
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
    """Return the moments of conversions, of the control and of the variant."""
    return Moments.of_shares(tables.control_hits, tables.control_n), Moments.of_shares(tables.hits, tables.n)


def pairs(control: Moments, treatment: Moments) -> list[tuple[Arm, Arm]]:
    """Return the arms as plain numbers, one pair per comparison."""

    def arms(moments: Moments) -> Iterator[Arm]:
        return zip(moments.n.astype(int).tolist(), moments.mean.tolist(), moments.m2.tolist(), strict=True)

    return list(zip(arms(control), arms(treatment), strict=True))


def timed(work: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    """Time a function: processor seconds of the fastest run, all threads together, and the last result."""
    seconds, found = [], None
    for _ in range(runs):
        start = time.process_time()
        found = work()
        seconds.append(time.process_time() - start)
    return min(seconds), found


def require_same_p(log_p: FloatArray, theirs: list[float]) -> None:
    """Raise RuntimeError unless a peer's p values equal ours, to the precision that the peer gives."""
    p = np.array(theirs)
    readable = p > 1e-12
    np.testing.assert_allclose(np.exp(log_p[: p.size][readable]), p[readable], rtol=1e-7)


def row(what: str, ours: float, peer: Peer) -> Row:
    """Build a row: our time over all comparisons, and the peer's time per comparison relative to ours."""
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
