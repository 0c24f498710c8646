"""Splits have the truth that they were asked for."""

import numpy as np
import pytest

from engine.calibration.sample_ratio import SampleRatioCase
from engine.calibration.trials import DAYS


def test_the_last_arm_gets_so_many_more_and_days_add_up() -> None:
    case = SampleRatioCase(visitors=2_800, arms=3)
    visitors = case.draw(lift=-0.1, runs=500, rng=np.random.default_rng(3)).visitors
    assert visitors.shape == (500, DAYS, 3)
    assert (visitors.sum(axis=-1) == 300 * np.arange(1, DAYS + 1)).all()
    end = visitors[:, -1].mean(axis=0)
    assert end / end[0] == pytest.approx([1.0, 1.0, 0.9], abs=0.01)
