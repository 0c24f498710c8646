"""Interactions of tests that run at once: false discoveries, and those that are planted."""

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.comparison.pair_interactions import (
    FALSE_DISCOVERY_RATE,
    find_interactions,
    is_comparable,
)
from engine.analysis.evidence.interactions import PairSums
from engine.stats.arrays import FloatArray
from tests.builders import an_experiment

FIRST = an_experiment(id="exp_1", name="Header")
SECOND = an_experiment(id="exp_2", name="Basket")
ALIKE = np.array([[0.1, 0.1], [0.1, 0.1]])
# Each change alone adds 10%, and both together take 20% away.
CLASH = np.array([[0.1, 0.11], [0.11, 0.08]])


def shares(rates: FloatArray, visitors: int, random: np.random.Generator) -> PairSums:
    n = random.multinomial(visitors, [0.25] * 4).reshape(2, 2)
    hits = random.binomial(n, rates).astype(np.float64)
    return PairSums(experiment=FIRST, other=SECOND, n=n.astype(np.float64), valued=hits, y=hits, yy=hits)


def grown(before: PairSums, rates: FloatArray, random: np.random.Generator) -> PairSums:
    more = shares(rates, 8_000, random)
    added = {name: getattr(before, name) + getattr(more, name) for name in ("n", "valued", "y", "yy")}
    return replace(before, **added)


def test_a_month_of_nights_without_interactions_finds_at_most_the_promised_share() -> None:
    random = np.random.default_rng(20261127)
    false = 0
    for _ in range(30):
        pairs = [shares(ALIKE, 8_000, random) for _ in range(10)]
        is_found = False
        for _ in range(8):
            pairs = [grown(one, ALIKE, random) for one in pairs]
            is_found = is_found or bool(find_interactions(pairs))
        false += is_found
    # Without any interaction the false discovery rate is the share of projects with one on some night.
    assert false <= 30 * FALSE_DISCOVERY_RATE


def test_planted_interactions_are_found_among_others_and_few_are_false() -> None:
    random = np.random.default_rng(3)
    true = false = 0
    for _ in range(20):
        planted = replace(shares(CLASH, 40_000, random), experiment=replace(FIRST, id="exp_9"))
        found = find_interactions([planted, *(shares(ALIKE, 40_000, random) for _ in range(30))])
        true += sum(one.test_id == "exp_9" for one in found)
        false += sum(one.test_id != "exp_9" for one in found)
    assert true >= 19
    assert false <= FALSE_DISCOVERY_RATE * (true + false)


def test_an_interaction_tells_both_effects() -> None:
    n = np.full((2, 2), 50_000.0)
    hits = n * CLASH
    pair = PairSums(experiment=FIRST, other=SECOND, n=n, valued=hits, y=hits, yy=hits)
    (found,) = find_interactions([pair])
    assert (found.test, found.other, found.variant, found.visitors) == (
        *("Header", "Basket", "Treatment 1"),
        200_000,
    )
    assert found.alone == pytest.approx(0.1)
    assert found.together == pytest.approx(0.08 / 0.11 - 1.0)
    assert found.q_value < 1e-6


def test_a_ratio_is_compared_by_the_delta_method() -> None:
    random = np.random.default_rng(8)
    sums = np.zeros((6, 2, 2))
    for row in range(2):
        for column in range(2):
            visits = random.poisson(3.0, 4_000) + 1.0
            clicks = random.binomial(visits.astype(int), 0.2 + 0.1 * (row & column)).astype(float)
            parts = (clicks, clicks**2, visits, visits**2, visits * clicks, clicks > 0)
            sums[:, row, column] = [part.sum() for part in parts]
    y, yy, d, dd, dy, valued = sums
    n = np.full((2, 2), 4_000.0)
    pair = PairSums(experiment=FIRST, other=SECOND, n=n, valued=valued, y=y, yy=yy, d=d, dd=dd, dy=dy)
    (found,) = find_interactions([pair])
    assert found.together == pytest.approx(0.5, abs=0.06)
    assert found.alone == pytest.approx(0.0, abs=0.06)


def test_cells_with_few_values_are_not_compared() -> None:
    n, hits = np.full((2, 2), 400.0), np.array([[40.0, 24.0], [40.0, 80.0]])
    few = PairSums(experiment=FIRST, other=SECOND, n=n, valued=hits, y=hits, yy=hits)
    assert not is_comparable(few)
    assert find_interactions([few]) == []
    assert find_interactions([]) == []
