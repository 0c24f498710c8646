"""Results of a goal as they are served: rounded, and on the side of the threshold that was decided."""

import numpy as np
import pytest

from api.schemas.goal_results import DecisionSummary, GoalSummary, VariantResult
from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.design.analysis_settings import Statistics
from tests.builders import NOW, an_experiment
from tests.observations import observed

# p = 0.0500058 by statsmodels' proportions_ztest, a score of 94.9994; one conversion more has p = 0.0475.
MISSED, REACHED = 1135, 1136


def report(conversions: int, method: str = "frequentist", **statistics: str) -> Report:
    experiment = an_experiment(analysis_method=method, statistics=Statistics(**statistics))  # type: ignore[arg-type]
    return analyze(experiment, observed([20_000, 20_000], [1046, conversions]), now=NOW)


def served(found: Report) -> VariantResult:
    goal = found.goals[0]
    return VariantResult.of(goal.variants[1], goal.goal.unit, goal.summary.effective_confidence_threshold)


def test_a_score_just_below_the_threshold_is_served_below_it() -> None:
    found = report(MISSED)
    variant, goal = served(found), found.goals[0]
    assert variant.status == "inconclusive"
    summary, decision = GoalSummary.of(goal.summary), DecisionSummary.of(goal.decision)
    assert summary.effective_confidence_threshold == 95.0
    for shown in (variant, summary):
        assert (shown.score_value, shown.confidence, shown.score_progress_percentage) == (94.99, 94.99, 99.99)
    assert decision.score_value == 94.99


def test_a_decided_score_is_served_at_the_threshold_or_above() -> None:
    variant = served(report(REACHED))
    assert variant.status == "winner"
    assert variant.score_value is not None
    assert variant.score_value >= 95.0
    assert variant.score_progress_percentage == 100.0


@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_every_score_decides_as_its_status(method: str) -> None:
    seen = set()
    for conversions in range(930, 1180, 5):
        variant = served(report(conversions, method))
        assert variant.score_value is not None
        decided = variant.score_value >= 95.0 or (method == "bayesian" and variant.score_value <= 5.0)
        assert decided == (variant.status in {"winner", "loser"})
        seen.add(variant.status)
    assert seen == {"winner", "loser", "inconclusive"}


def test_log_p_is_served_where_p_underflows() -> None:
    experiment = an_experiment()
    found = analyze(experiment, observed([10**6, 10**6], [10_000, 40_000]), now=NOW)
    variant = served(found)
    assert variant.p_value == 0.0
    # Two-sided, z of the pooled score test; log sf(z) is about -z²/2 - log(z sqrt(2 pi)).
    z = 0.03 / np.sqrt(0.025 * 0.975 * 2 / 10**6)
    assert variant.log_p_value == pytest.approx(-(z**2) / 2 - np.log(z * np.sqrt(np.pi / 2)), rel=1e-6)


def test_intervals_are_served_in_percent_and_percentage_points() -> None:
    variant = served(report(1100))
    own, between = variant.rate_interval, variant.absolute_difference_interval
    assert own is not None
    assert between is not None
    # Wilson's interval of 1100 of 20,000 by statsmodels' proportion_confint.
    assert (own.low, own.high, own.level) == (5.1925, 5.8246, 95.0)
    assert between.low is not None
    assert between.high is not None
    assert between.low < 0.0
    assert between.high > 0.27
