"""Lifts under a prior are those that were asked for."""

import numpy as np
import pytest

from engine.calibration.lift_priors import LiftPriorCase


def test_lifts_come_from_the_prior_or_are_one() -> None:
    drawn, fixed = (
        LiftPriorCase(rate=0.1, visitors=10_000, deviation=0.2, drawn=each).draw(
            lift=0.2, runs=4_000, rng=np.random.default_rng(3)
        )
        for each in (True, False)
    )
    assert drawn.lifts.std() == pytest.approx(0.2, abs=0.01)
    assert (fixed.lifts == 0.2).all()
    assert fixed.moments.mean.mean(axis=0) == pytest.approx([0.1, 0.12], abs=0.0003)
    observed = drawn.moments.mean[:, 1] / 0.1 - 1
    assert np.corrcoef(observed, drawn.lifts[:, 0, 0])[0, 1] > 0.98


def test_without_a_lift_arms_are_alike() -> None:
    case = LiftPriorCase(rate=0.1, visitors=100, deviation=0.2, drawn=True)
    assert (case.draw(lift=0.0, runs=9, rng=np.random.default_rng(3)).lifts == 0).all()
