"""Speed and accuracy of comparing 15,000 pairs of Beta posteriors in one call.

The packages come to other numbers, as they approximate them: gbstats by normal distributions,
bayesian-testing by drawing. So each row says how far its chances to beat are from the true ones, which are
finite sums taken with 40 digits; the run stops where ours are off by more than 1e-9, or a peer's by more
than it should.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from bayesian_testing.metrics import eval_bernoulli_agg
from gbstats.bayesian.tests import EffectBayesianABTest
from gbstats.models.statistics import ProportionStatistic
from scipy import integrate, stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.comparisons.comparing import ALPHA, COMPARISONS, RUNS, Peer, Row, observe, row, timed
from engine.stats.arrays import FloatArray
from engine.stats.bayesian import posteriors

# Those that take milliseconds for each are asked for so many.
SOME = 1000
# True chances are sums of as many terms as there are conversions.
CHECKED = 60
DRAWS = 20_000
DIGITS = 40

# Control's conversions and visitors, variant's conversions and visitors.
Counts = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Approximation:
    """A peer: its method of approximation, the error allowed to it, and the figures it computes."""

    what: str
    peer: Peer
    chances: FloatArray
    off_by_at_most: float


def run() -> list[Row]:
    """Time chance, loss and interval of the lift together, and the chance alone."""
    tables = observe().tables
    counts: list[Counts] = [
        (int(control), int(control_n), int(hits), int(n))
        for control, control_n, hits, n in zip(
            tables.control_hits, tables.control_n, tables.hits, tables.n, strict=True
        )
    ]
    truth = np.array([_true_chance(count) for count in counts[:CHECKED]])
    everything, posterior = timed(
        lambda: (posteriors.compare_shares(tables), posteriors.share_lift(tables, ALPHA / 2)), RUNS
    )
    chance_alone, _ = timed(lambda: posteriors.compare_shares(tables), RUNS)
    error = _error(posterior[0].chance, truth, 1e-9)
    times = {"chance, loss, lift interval": everything, "chance, loss": chance_alone}
    return [
        row(one.what, times[one.what], one.peer)
        | {
            "our error": f"{error:.0e}",
            "peer's error": f"{_error(one.chances, truth, one.off_by_at_most):.0e}",
        }
        for one in (_gbstats(counts), _bayesian_testing(counts[:SOME]), _scipy(counts[:SOME]))
    ]


def _gbstats(counts: Sequence[Counts]) -> Approximation:
    arms = [
        (ProportionStatistic(n=control_n, sum=control), ProportionStatistic(n=n, sum=hits))
        for control, control_n, hits, n in counts
    ]
    seconds, found = timed(lambda: [EffectBayesianABTest(*pair).compute_result() for pair in arms])
    peer = Peer(name="gbstats (normal)", seconds=seconds)
    return Approximation(
        "chance, loss, lift interval", peer, np.array([one.chance_to_win for one in found]), 0.05
    )


def _bayesian_testing(counts: Sequence[Counts]) -> Approximation:
    """Compare by bayesian-testing with flat priors; its intervals are of the rates, not of the lift."""

    def ask(count: Counts) -> Any:  # noqa: ANN401  # a tuple of lists
        control, control_n, hits, n = count
        return eval_bernoulli_agg([control_n, n], [control, hits], [1, 1], [1, 1], sim_count=DRAWS, seed=1)

    seconds, found = timed(lambda: [ask(count) for count in counts])
    peer = Peer(name=f"bayesian-testing ({DRAWS:,} draws)", seconds=seconds, comparisons=len(counts))
    return Approximation("chance, loss", peer, np.array([one[0][1] for one in found]), 0.03)


def _scipy(counts: Sequence[Counts]) -> Approximation:
    """Compute the chance alone, by an adaptive quadrature for each pair."""
    # SciPy multiplies whole shapes as 64-bit integers, which may overflow.
    pairs = [
        (stats.beta(1.0 + hits, 1.0 + n - hits), stats.beta(1.0 + control, 1.0 + control_n - control))
        for control, control_n, hits, n in counts
    ]

    def ask(variant: Any, control: Any) -> float:  # noqa: ANN401  # SciPy's frozen distributions
        low, high = (control.mean() + side * 10.0 * control.std() for side in (-1.0, 1.0))
        chance: float = integrate.quad(
            lambda rate: control.pdf(rate) * variant.sf(rate), max(low, 0.0), min(high, 1.0)
        )[0]
        return chance

    seconds, found = timed(lambda: [ask(*pair) for pair in pairs])
    peer = Peer(name="SciPy's quad", seconds=seconds, comparisons=len(counts))
    return Approximation("chance, loss", peer, np.array(found), 1e-6)


def _true_chance(count: Counts) -> float:
    """Compute P(X > Y) for X ~ Beta(a, b), Y ~ Beta(c, d), as a sum with a terms.

    Σ B(c+i, b+d) / ((b+i) B(1+i, b) B(c, d)) over i < a: Miller (2015), "Formulas for Bayesian A/B testing".
    """
    control, control_n, hits, n = count
    a, b, c, d = hits + 1, n - hits + 1, control + 1, control_n - control + 1
    with mpmath.workdps(DIGITS):
        term = total = mpmath.beta(c, b + d) / mpmath.beta(c, d)
        for i in range(a - 1):
            term = term * ((c + i) * (b + i)) / ((b + c + d + i) * (i + 1))
            total += term
        return float(total)


def _error(chances: FloatArray, truth: FloatArray, at_most: float) -> float:
    """Return the largest error of a chance; RuntimeError where it exceeds the allowed one."""
    error = float(np.abs(chances[: truth.size] - truth).max())
    if not error <= at_most:
        raise RuntimeError(f"a chance is off by {error}, more than {at_most}")
    return error


if __name__ == "__main__":
    print(f"{COMPARISONS:,} comparisons")
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
