import pytest

from engine.analysis.comparison.plan import plan_analysis
from engine.design.analysis_settings import Statistics
from tests.builders import a_goal, an_experiment

GOALS = (
    a_goal(),
    a_goal(id="goal_2", is_primary=False, goal_type="revenue", config={}),
    a_goal(
        id="goal_3",
        is_primary=False,
        config={"event_name": "x", "direction": "decrease", "guardrail_margin_percent": 2},
    ),
)


def test_a_plan_has_the_directions_metrics_and_margins_of_the_goals() -> None:
    plan = plan_analysis(an_experiment(goals=GOALS))
    assert plan.primary == 0
    assert plan.is_revenue.tolist() == [False, True, False]
    assert plan.wanted.ravel().tolist() == [1, 1, -1]
    assert plan.margins[2] == pytest.approx(0.02)


def test_challengers_are_all_variants_but_the_control() -> None:
    plan = plan_analysis(an_experiment(weights=(1, 2, 1)))
    assert (plan.control, plan.challengers.tolist()) == (0, [1, 2])
    assert plan.shares.tolist() == [0.25, 0.5, 0.25]


def test_levels_are_shared_by_bonferroni_unless_p_values_are_adjusted() -> None:
    plain = plan_analysis(an_experiment(weights=(1, 1, 1)))
    assert (plain.family_alpha, plain.comparison_alpha, plain.decision_alpha) == (0.05, 0.025, 0.025)
    holm = plan_analysis(an_experiment(weights=(1, 1, 1), statistics=Statistics(correction="holm")))
    assert (holm.decision_alpha, holm.threshold) == (0.05, 0.95)


def test_a_one_sided_test_has_alpha_on_each_side_of_its_interval() -> None:
    plain = plan_analysis(an_experiment(weights=(1, 1, 1)))
    assert (plain.is_one_sided, plain.two_sided_alpha) == (False, 0.025)
    plan = plan_analysis(an_experiment(weights=(1, 1, 1), statistics=Statistics(alternative="one_sided")))
    assert (plan.is_one_sided, plan.two_sided_alpha, plan.decision_alpha) == (True, 0.05, 0.025)


def test_a_prior_on_the_lift_is_in_shares() -> None:
    statistics = Statistics(prior="lift", prior_lift_percent=1, prior_deviation_percent=5)
    prior = plan_analysis(an_experiment(analysis_method="bayesian", statistics=statistics)).lift_prior
    assert prior is not None
    assert (prior.mean, prior.deviation) == (0.01, 0.05)
    assert plan_analysis(an_experiment()).lift_prior is None
