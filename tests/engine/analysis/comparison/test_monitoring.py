from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.analysis.analyze import analyze
from engine.analysis.automation.early_stopping import early_winner
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.results.variant_result import VariantResult
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.stats.contingency import Tables
from engine.stats.frequentist.two_sample import compare_shares
from engine.stats.moments import Moments
from engine.vocabulary import SequentialMethod
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

WEEKS_AGO = NOW - timedelta(days=14)


def treatment_of(experiment: Experiment, evidence: Evidence) -> VariantResult:
    return analyze(experiment, evidence, now=NOW).goals[0].variants[1]


def winner(evidence: Evidence, **fields: Any) -> str | None:
    found = early_winner(an_experiment(**fields), evidence, now=NOW)
    return found.id if found else None


def test_sequential_interval_is_that_of_the_score_test_at_the_critical_value() -> None:
    plan = Statistics(planned_sample=20_000)
    result = treatment_of(an_experiment(statistics=plan), observed([10_000, 10_000], [500, 600]))
    interval = result.compared.sequential_interval
    assert interval is not None
    assert interval.level == 0.95
    # Theorem 2.2 of Waudby-Smith et al. (2024): sqrt((1 + 1/x) log((x + 1)/alpha²)) at its smallest,
    # which is at x = 8.2120 for alpha = 0.05, worked out with mpmath.
    alpha = 2 * stats.norm.sf(3.035122413)
    test = compare_shares(Tables.of(500, 10_000, 600, 10_000), alpha)
    assert (interval.low, interval.high) == pytest.approx((test.low.item(), test.high.item()), rel=1e-6)


def test_sequential_interval_holds_more_than_that_of_one_look() -> None:
    result = treatment_of(an_experiment(), observed([3_000, 3_000], [300, 400]))
    once, always = result.improvement_interval, result.compared.sequential_interval
    assert once is not None
    assert always is not None
    assert (always.low or 0) < (once.low or 0) < (once.high or 0) < (always.high or 0)


def test_sequential_interval_keeps_the_level_of_each_of_several_comparisons() -> None:
    result = treatment_of(an_experiment(weights=(1, 1, 1)), observed([10_000] * 3, [500, 600, 550]))
    assert result.compared.sequential_interval is not None
    assert result.compared.sequential_interval.level == 0.975


@pytest.mark.parametrize(
    ("fields", "evidence"),
    [
        ({"analysis_method": "bayesian"}, observed([10_000, 10_000], [500, 600])),
        ({"traffic_strategy": "bandit"}, observed([10_000, 10_000], [500, 600])),
        ({}, observed([10_000, 10_000], [20, 28])),
        ({}, observed([10_000, 10_000], [9_980, 9_972])),
        ({}, observed([0, 0], [0, 0])),
    ],
    ids=["bayesian", "bandit", "24 expected", "24 expected not to convert", "no visitor"],
)
def test_there_is_no_sequential_interval_where_it_would_not_hold(
    fields: dict[str, Any], evidence: Evidence
) -> None:
    assert treatment_of(an_experiment(**fields), evidence).compared.sequential_interval is None


def test_a_test_that_ends_as_planned_asks_for_less_near_its_end_and_more_at_its_start() -> None:
    def level_needed(visitors: int, method: SequentialMethod) -> float:
        statistics = Statistics(sequential=method, planned_sample=20_000)
        experiment = an_experiment(statistics=statistics)
        data = prepare(experiment, observed([visitors] * 2, [visitors // 10, visitors // 9]))
        found = assess_significance(data).monitoring
        assert found is not None
        return float(found.critical[0, 1])

    early, late = 1_000, 10_000
    assert level_needed(early, "group_sequential") > level_needed(early, "always_valid")
    assert level_needed(late, "group_sequential") < 0.8 * level_needed(late, "always_valid")


def test_winner_of_a_test_that_ends_as_planned_stops_it_and_ships() -> None:
    statistics = Statistics(sequential="group_sequential", planned_sample=20_000)
    # z = 2.9 at half the plan, where a first look requires 2.96: 2 - 2 Phi(2.2414 / sqrt(0.5)) a side,
    # Lan and DeMets (1983). z = 3.0 at 90% of it, where it requires 2.09.
    half, nearly = observed([5_000, 5_000], [500, 590]), observed([9_000, 9_000], [900, 1_024])
    fields: dict[str, Any] = {"statistics": statistics, "status": "running", "started_at": WEEKS_AGO}
    assert winner(half, **fields) is None
    assert treatment_of(an_experiment(**fields), half).status == "inconclusive"
    assert winner(nearly, **fields) == "var_1"
    report = analyze(an_experiment(**fields), nearly, now=NOW)
    assert report.goals[0].decision.recommendation == "ship"
    found = report.goals[0].variants[1]
    # The verdict's p and interval are those of all looks together.
    assert found.improvement_interval == found.compared.sequential_interval


def test_revenue_is_watched_per_visitor() -> None:
    n, hits = [4_000.0, 4_000.0], [[400, 400]]
    cents = Moments(np.array([n]), np.array([[500.0, 650.0]]), np.array([[4e9, 4e9]]))
    goal = a_goal(goal_type="revenue", config={})
    result = treatment_of(an_experiment(goals=(goal,)), observed([4_000, 4_000], hits, cents=cents))
    assert result.compared.sequential_interval is not None
    assert (
        (result.compared.sequential_interval.low or 0) < 0.3 < (result.compared.sequential_interval.high or 0)
    )


def test_what_wins_at_one_look_does_not_stop_a_test() -> None:
    evidence = observed([5_000, 5_000], [500, 570])
    assert treatment_of(an_experiment(), evidence).status == "winner"
    assert winner(evidence) is None


def test_what_no_later_look_can_take_back_stops_a_test() -> None:
    assert winner(observed([5_000, 5_000], [500, 650])) == "var_1"


def test_loser_does_not_stop_a_test() -> None:
    assert winner(observed([5_000, 5_000], [650, 500])) is None


def test_less_wins_where_less_is_better() -> None:
    goal = a_goal(config={"event_name": "refund", "direction": "decrease"})
    assert winner(observed([5_000, 5_000], [650, 500]), goals=(goal,)) == "var_1"


def test_best_of_several_winners_is_named() -> None:
    assert winner(observed([5_000] * 3, [500, 650, 700]), weights=(1, 1, 1)) == "var_2"


def test_only_the_primary_goal_stops_a_test() -> None:
    goals = (a_goal(), a_goal(id="goal_2", is_primary=False))
    assert winner(observed([5_000, 5_000], [[500, 510], [500, 650]]), goals=goals) is None


def test_data_that_cannot_be_trusted_stops_no_test() -> None:
    assert winner(observed([5_000, 6_000], [500, 900])) is None


def test_bayesian_winner_stops_a_test_by_what_holds_at_every_look() -> None:
    early, late = observed([500, 500], [50, 70]), observed([5_000, 5_000], [500, 640])
    results = [
        treatment_of(an_experiment(analysis_method="bayesian"), evidence) for evidence in (early, late)
    ]
    assert [result.status for result in results] == ["winner", "winner"]
    assert winner(early, analysis_method="bayesian") is None
    assert winner(late, analysis_method="bayesian") == "var_1"


def test_nothing_to_compare_stops_no_test() -> None:
    assert winner(observed([0, 0], [0, 0])) is None
    assert winner(Evidence.empty(0, 0), goals=(), variants=()) is None
    assert winner(observed([5_000, 5_000], [500, 650]), traffic_strategy="bandit") is None


@pytest.mark.parametrize("is_revenue", [False, True])
def test_a_sample_far_ahead_leaves_no_interval_and_no_warning(is_revenue: bool) -> None:  # noqa: FBT001
    n, none = np.full((1, 2), 4_000.0), np.zeros((1, 2))
    cents = Moments(n, np.full((1, 2), 500.0), np.full((1, 2), 4e9), none)
    goal = a_goal(goal_type="revenue", config={}) if is_revenue else a_goal()
    experiment = an_experiment(goals=(goal,), statistics=Statistics(planned_sample=10**12))
    result = treatment_of(experiment, observed([4_000, 4_000], [400, 420], cents=cents))
    assert result.compared.sequential_interval is None
