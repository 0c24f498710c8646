"""Findings that one visitor makes, by what they rest on: the plan, the sequence, or a guardrail's margin."""

from typing import Any

import numpy as np
import polars as pl

import truelift
from engine.analysis.results.report import DecisionSummary

N = 2_000


def visits(robot: int | None = 0, *, bought: tuple[float, float] = (0.2, 0.2)) -> pl.DataFrame:
    """Build visitors of A and B over 14 days; a robot of A has 10,000 views and no click."""
    rng = np.random.default_rng(3)
    views = rng.poisson(4, 2 * N) + 1
    clicks = rng.binomial(views, 0.1)
    if robot is not None:
        views[robot], clicks[robot] = 10_000, 0
    return pl.DataFrame(
        {
            "variant": np.repeat(["A", "B"], N),
            "views": views,
            "clicks": clicks,
            "bought": rng.random(2 * N) < np.repeat(bought, N),
        }
    )


def decided(frame: pl.DataFrame, goals: dict[str, Any], **settings: Any) -> DecisionSummary:
    report = truelift.analyze(frame, control="A", goals=goals, **settings)
    assert report.primary is not None
    return report.primary.decision


# With the robot, A has half as many clicks a view, so that B seems to double what is to be lowered.
GUARDED: dict[str, Any] = {
    "bought": "converted",
    "clicks": truelift.Ratio("clicks", "views", guardrail=5, less_is_better=True),
}


def test_a_broken_guardrail_that_one_visitor_makes_is_no_rollback() -> None:
    decision = decided(visits(), GUARDED)
    assert (decision.recommendation, decision.reason) == ("review", "one_visitor")
    assert "10,000 of 19,845 in the denominator" in decision.explanation
    assert decided(visits(robot=None), GUARDED).reason not in {"one_visitor", "guardrail_broken"}


def test_a_sound_win_beside_a_guardrail_that_one_visitor_breaks_is_reviewed() -> None:
    decision = decided(visits(bought=(0.2, 0.3)), GUARDED)
    assert (decision.recommendation, decision.reason) == ("review", "guardrail_broken")


def test_a_loss_of_conversions_beside_it_is_a_rollback() -> None:
    # The loss of conversions is nobody's, whoever breaks the guardrail.
    assert decided(visits(bought=(0.3, 0.2)), GUARDED).recommendation == "rollback"


def test_bayesian_wins_rest_on_visitors_too() -> None:
    goals = {"clicks": truelift.Ratio("clicks", "views")}
    decision = decided(visits(), goals, analysis_method="bayesian")
    assert (decision.recommendation, decision.reason) == ("review", "one_visitor")
