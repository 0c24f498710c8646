"""Guardrails are drawn at their margin, and from there."""

import numpy as np
import pytest

from engine.calibration.guardrails import GuardrailCase


@pytest.mark.parametrize(("harms", "at"), [(False, 0.1), (True, 0.06)])
def test_lifts_count_from_the_margin(harms: bool, at: float) -> None:  # noqa: FBT001  # a parameter of a table
    case = GuardrailCase(rate=0.1, visitors=10_000, margin=0.2, harms=harms)
    rng = np.random.default_rng(3)
    at_margin, beyond = (case.draw(lift=lift, runs=500, rng=rng) for lift in (0.0, case.detectable))
    assert at_margin.moments.mean.mean(axis=0) == pytest.approx([0.1, 0.08], abs=0.0007)
    assert beyond.moments.mean.mean(axis=0) == pytest.approx([0.1, at], abs=0.0007)
