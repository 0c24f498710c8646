"""Speed of 15,000 sequential comparisons in one call, against one at a time.

Always valid, against gbstats: both use the sequence of Waudby-Smith et al., which gbstats tunes by a
closed-form approximation; the run stops where intervals differ by more than a hundredth. At planned looks,
against spotify-confidence: it spends alpha as t², ours as O'Brien and Fleming do, so that only the time can
be compared; the run stops where differences are not the same.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gbstats.frequentist.tests import SequentialConfig, SequentialTwoSidedTTest
from gbstats.models.statistics import SampleMeanStatistic

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.comparisons import spotify
from benchmarks.comparisons.comparing import (
    ALPHA,
    COMPARISONS,
    RUNS,
    Observed,
    Peer,
    Row,
    observe,
    pairs,
    row,
    timed,
)
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import fieller
from engine.stats.moments import Moments
from engine.stats.sequential.confidence_sequence import confidence_sequence
from engine.stats.sequential.group_sequential import obrien_fleming

PLANNED = 20_000
LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)
# At all of the looks, in each arm.
VISITORS = 100_000
# The difference, whether it is decided, and the interval of the lift.
Look = tuple[FloatArray, BoolArray, FloatArray, FloatArray]
# It takes about a tenth of a second for each.
SPOTIFY_COMPARISONS = 200


def run() -> list[Row]:
    """Time a look at an always-valid sequence, and all planned looks."""
    return [*_always_valid(observe()), *_planned_looks()]


def _always_valid(seen: Observed) -> Iterator[Row]:
    control, treatment = Estimate.of(seen.control), Estimate.of(seen.treatment)
    ours, found = timed(
        lambda: confidence_sequence(
            control, treatment, fewest_conversions=1000, alpha=ALPHA, planned=PLANNED
        ),
        RUNS,
    )
    statistics = [
        tuple(SampleMeanStatistic(n, n * mean, m2 + n * mean * mean) for n, mean, m2 in pair)
        for pair in pairs(seen.control, seen.treatment)
    ]
    config = SequentialConfig(
        difference_type="absolute", alpha=ALPHA, sequential_tuning_parameter=float(PLANNED)
    )
    seconds, results = timed(
        lambda: [SequentialTwoSidedTTest(*pair, config).compute_result() for pair in statistics]
    )
    low, high = np.array([result.ci for result in results]).T
    np.testing.assert_allclose(found.high - found.low, high - low, rtol=0.01)
    yield row("always valid: p, interval", ours, Peer(name="gbstats", seconds=seconds))


def _planned_looks() -> Iterator[Row]:
    control, treatment = _growing(17), _growing(18)
    ours, found = timed(lambda: _looks(control, treatment), RUNS)
    chosen = (slice(None), slice(SPOTIFY_COMPARISONS))
    asked = spotify.arms(control[chosen], treatment[chosen])
    answer = spotify.answer("looks", asked | {"planned": np.full(asked["n"].shape, 2.0 * VISITORS)})
    middle = np.stack([difference[:SPOTIFY_COMPARISONS] for difference, *_ in found], axis=-1)
    np.testing.assert_allclose(answer.difference, middle.ravel(), atol=1e-6)
    what = f"{len(LOOKS)} planned looks: decision, interval"
    yield row(what, ours, Peer(name=spotify.NAME, seconds=answer.seconds, comparisons=SPOTIFY_COMPARISONS))


def _growing(seed: int) -> Moments:
    """Draw revenue per visitor of arms that grow by the same number up to each look: looks by comparisons."""
    rng = np.random.default_rng(seed)
    shape = (len(LOOKS), COMPARISONS)
    added = VISITORS / len(LOOKS)
    means = rng.normal(300.0, 2400.0 / np.sqrt(added), shape)
    n = np.broadcast_to(np.array(LOOKS)[:, None] * VISITORS, shape)
    mean = np.cumsum(means, axis=0) / np.arange(1.0, len(LOOKS) + 1.0)[:, None]
    return Moments(n, mean, n * 2400.0**2)


def _looks(control: Moments, treatment: Moments) -> list[Look]:
    """Compute difference, decision and interval of the lift at each look, by the boundaries so far."""
    before, after = Estimate.of(control), Estimate.of(treatment)
    return [
        _look(before[look], after[look], obrien_fleming(LOOKS[: look + 1], ALPHA)[-1:])
        for look in range(len(LOOKS))
    ]


def _look(before: Estimate, after: Estimate, critical: FloatArray) -> Look:
    change = after.minus(before)
    interval = fieller(before.value, before.variance, after.value, after.variance, critical)
    return (change.value, np.abs(change.z) > critical, *interval)


if __name__ == "__main__":
    for line in run():
        print("  ".join(str(value).ljust(22) for value in line.values()))
