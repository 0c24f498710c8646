"""Segments have the truth that they were asked for."""

import numpy as np
import pytest
from scipy import special

from engine.calibration.segments import SegmentsCase, SegmentsSample


def drawn(case: SegmentsCase, lift: float = 0.0, runs: int = 2_000) -> SegmentsSample:
    return case.draw(lift=lift, runs=runs, rng=np.random.default_rng(3))


def test_those_that_are_affected_are_and_others_are_not() -> None:
    sample = drawn(SegmentsCase(rate=0.1, visitors=1_000, affected=4))
    assert (sample.lifts[0, 0] == [0.3] * 4 + [0.0] * 6).all()
    affected = special.expit(special.logit(0.1) + 0.3)
    assert sample.tables.share.mean(axis=0)[3:5] == pytest.approx([affected, 0.1], abs=0.001)
    assert sample.tables.control_share.mean() == pytest.approx(0.1, abs=0.001)


def test_the_spread_is_half_normal_and_each_run_has_its_own() -> None:
    sample = drawn(SegmentsCase(rate=0.1, visitors=1_000), lift=0.5)
    # The mean square of a half-normal spread is that of its scale.
    assert np.sqrt(((sample.lifts - 0.1) ** 2).mean()) == pytest.approx(0.5, abs=0.02)
    by_run = sample.lifts[:, 0].std(axis=1, ddof=1)
    assert np.quantile(by_run, 0.1) < 0.15
    assert np.quantile(by_run, 0.9) > 0.7
