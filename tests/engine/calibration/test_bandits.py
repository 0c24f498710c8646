"""Bandits have the truth that they were asked for."""

import numpy as np
import pytest

from engine.calibration.bandits import EPOCHS, BanditCase


def test_the_base_rate_triples_and_the_last_arm_has_the_lift() -> None:
    case = BanditCase(rate=0.1, visitors=3_000, arms=3)
    sample = case.draw(lift=0.5, runs=200, rng=np.random.default_rng(3))
    assert sample.moments.n.sum(axis=(0, 2)).tolist() == [9_000] * 200
    rates = sample.moments.total.sum(axis=1) / sample.moments.n.sum(axis=1)
    assert rates[0] == pytest.approx([0.05, 0.05, 0.075], abs=0.005)
    assert rates[EPOCHS - 1, 2] == pytest.approx(0.225, abs=0.005)
    assert sample.lifts.tolist() == [0.0, 0.5]


def test_the_same_seed_gives_the_same_bandits() -> None:
    case = BanditCase(rate=0.1, visitors=500)
    first, again = (case.draw(lift=0.1, runs=5, rng=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.moments.mean, again.moments.mean)
