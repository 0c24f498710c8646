"""Findings that one visitor, or two, make: of the primary goal, and of a guardrail's margin."""

from typing import Any

import numpy as np
import polars as pl

import truelift
from engine.analysis.results.report import DecisionSummary

N = 2_000
# The small variant seems to return more, which is not wanted, and one visitor returns so much that it counts.
GUARDED: dict[str, Any] = {
    "bought": "converted",
    "returned": truelift.Revenue(guardrail=5, less_is_better=True),
}


def visits(*, whale: float | None = 500.0, bought: tuple[float, float] = (0.3, 0.3)) -> pl.DataFrame:
    """Build 1,800 visitors of A and 200 of B."""
    rng = np.random.default_rng(4)
    is_small = np.arange(N) >= 1_800
    returned = np.where(rng.random(N) < 0.3, rng.lognormal(3, 0.5, N), 0.0) * np.where(is_small, 1.4, 1.0)
    if whale is not None:
        returned[-1] = whale
    return pl.DataFrame(
        {
            "variant": np.where(is_small, "B", "A"),
            "returned": returned,
            "bought": rng.random(N) < np.where(is_small, bought[1], bought[0]),
        }
    )


def decided(frame: pl.DataFrame, goals: dict[str, Any], **settings: Any) -> DecisionSummary:
    weights = {"A": 9.0, "B": 1.0}
    report = truelift.analyze(frame, control="A", goals=goals, weights=weights, **settings)
    assert report.primary is not None
    return report.primary.decision


def test_a_broken_guardrail_that_one_visitor_makes_is_no_rollback() -> None:
    decision = decided(visits(), GUARDED)
    assert (decision.recommendation, decision.reason) == ("review", "one_visitor")
    assert "two visitors of 'B' with 27" in decision.explanation
    assert decided(visits(whale=None), GUARDED).reason not in {"one_visitor", "guardrail_broken"}


def test_a_sound_win_beside_a_guardrail_that_one_visitor_breaks_is_reviewed() -> None:
    decision = decided(visits(bought=(0.3, 0.5)), GUARDED)
    assert (decision.recommendation, decision.reason) == ("review", "guardrail_broken")


def test_a_loss_of_conversions_beside_it_is_a_rollback() -> None:
    # The loss of conversions is nobody's, whoever breaks the guardrail.
    assert decided(visits(bought=(0.5, 0.3)), GUARDED).recommendation == "rollback"
