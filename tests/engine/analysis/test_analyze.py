"""The whole way from evidence to a report: what each number is, and none is missing without a reason."""

import dataclasses
import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.report.score_labels import describe_score
from engine.analysis.results.report import Report
from engine.errors import InvalidEvidenceError
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment, variants_of
from tests.examples import examples
from tests.observations import observed

HUGE = 10**12


def numbers(value: Any) -> list[float]:
    """Every float in a report, however deep."""
    if isinstance(value, float):
        return [value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [n for field in dataclasses.fields(value) for n in numbers(getattr(value, field.name))]
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list | tuple):
        return [n for item in value for n in numbers(item)]
    return []


def report_of(evidence: Evidence, **experiment: Any) -> Report:
    weights = (1,) * len(evidence.visitors)
    return analyze(an_experiment(weights=weights, **experiment), evidence, now=NOW)


def test_numbers_of_a_variant_are_those_of_its_counts() -> None:
    report = report_of(observed([1400, 1412], [90, 118]))
    control, variant = report.goals[0].variants
    assert (variant.visitors, variant.conversions) == (1412, 118)
    assert variant.conversion_rate == pytest.approx(0.0836, abs=5e-5)
    assert variant.improvement == pytest.approx(118 / 1412 / (90 / 1400) - 1)
    assert variant.compared.absolute_difference == pytest.approx(118 / 1412 - 90 / 1400)
    assert variant.compared.confidence == variant.compared.score_value
    assert variant.p_value == pytest.approx(1 - (variant.compared.confidence or 0))
    assert (control.status, control.improvement, control.compared.score_value, control.reason) == (
        "control",
    ) + (None,) * 3


def test_both_methods_carry_p_and_chance_but_are_judged_on_their_own() -> None:
    frequentist = report_of(observed([5000, 5000], [500, 560])).goals[0].variants[1]
    bayesian = report_of(observed([5000, 5000], [500, 560]), analysis_method="bayesian").goals[0].variants[1]
    assert (frequentist.p_value, frequentist.chance_to_beat) == (bayesian.p_value, bayesian.chance_to_beat)
    assert frequentist.compared.score_value == frequentist.compared.confidence
    assert bayesian.compared.score_value == bayesian.chance_to_beat
    assert frequentist.improvement_interval is not None
    assert bayesian.improvement_interval is not None
    assert frequentist.improvement_interval.level == pytest.approx(0.95)
    # 5% on each side, as the chance is judged.
    assert bayesian.improvement_interval.level == pytest.approx(0.90)


def test_progress_is_the_share_of_the_threshold_and_at_most_whole() -> None:
    report = report_of(observed([5000] * 3, [500, 560, 900]))
    undecided, winner = report.goals[0].variants[1:]
    assert undecided.compared.score_progress == pytest.approx((undecided.compared.score_value or 0) / 0.975)
    assert winner.compared.score_progress == 1.0


def test_the_summary_is_everyone_and_the_lead() -> None:
    summary = report_of(observed([20_000] * 3, [2000, 2400, 2600])).goals[0].summary
    assert (summary.visitors, summary.conversions) == (60_000, 7000)
    assert summary.conversion_rate == pytest.approx(7 / 60)
    assert summary.best_variant_name == summary.winner_variant_name == "Treatment 2"
    assert summary.improvement == pytest.approx(0.3)
    assert summary.status == "winner"


def test_a_lead_that_does_not_win_is_best_but_no_winner() -> None:
    summary = report_of(observed([1000, 1000], [100, 104])).goals[0].summary
    assert (summary.best_variant_name, summary.winner_variant_name) == ("Treatment 1", None)


def test_labels_are_the_contracts() -> None:
    assert describe_score("frequentist")[0] == "Significance (1-p)"
    assert describe_score("bayesian")[0] == "Chance to beat control"
    report = report_of(observed([10, 10, 10], [1, 1, 1]))
    assert report.score_label == "Significance (1-p)"
    assert report.effective_confidence_threshold == pytest.approx(0.975)


def test_revenue_lift_stands_on_every_goal() -> None:
    hits = [[500, 600], [500, 600]]
    cents = np.array([[100.0, 130.0], [100.0, 130.0]])
    moments = Moments(np.full((2, 2), 5000.0), cents, np.full((2, 2), 5000 * 400.0**2))
    goals = (a_goal(), a_goal(id="goal_2", goal_type="revenue", is_primary=False, config={}))
    report = report_of(observed([5000, 5000], hits, cents=moments, days=10), goals=goals)
    on_rate, on_money = (goal.variants[1] for goal in report.goals)
    assert on_rate.details.revenue.improvement == on_money.details.revenue.improvement == pytest.approx(0.3)
    assert on_rate.improvement == pytest.approx(0.2)
    assert on_money.improvement == pytest.approx(0.3)
    # 30 cents on each of 10,000 visitors in 10 days.
    assert on_rate.details.revenue.projected_annual_revenue_impact_cents == 30 * 10_000 // 10 * 365


def test_yearly_impact_is_of_every_eligible_visitor() -> None:
    moments = Moments(np.full((1, 2), 500.0), np.array([[100.0, 130.0]]), np.full((1, 2), 1e7))
    evidence = observed([500, 500], [50, 50], cents=moments, days=10)
    half = report_of(evidence, traffic_allocation=50).goals[0].variants[1]
    assert half.details.revenue.projected_annual_revenue_impact_cents == 30 * 2000 // 10 * 365


def test_days_add_up_and_are_all_there() -> None:
    goal = report_of(observed([100, 90], [10, 9], days=5)).goals[0]
    assert [day for day, _ in goal.days] == [date(2026, 3, 2 + i) for i in range(5)]
    assert sum(by_variant["var_0"].visitors for _, by_variant in goal.days) == 100
    assert sum(by_variant["var_1"].conversions for _, by_variant in goal.days) == 9


@pytest.mark.parametrize(
    ("visitors", "conversions", "reason"),
    [
        ([0, 0], [0, 0], "'Control' has no visitors yet"),
        ([500, 0], [5, 0], "'Treatment 1' has no visitors yet"),
        ([1, 1], [0, 1], "'Control' has 1 of the 100 visitors required"),
        ([500, 500], [0, 0], "together have 0 of the 5 conversions required"),
        ([100, 100], [0, 8], "'Control' has no conversions, so there is no relative change"),
        ([500, 500], [500, 500], None),
        ([HUGE, HUGE], [HUGE // 10, HUGE // 10 + 10**6], None),
    ],
)
@pytest.mark.parametrize("method", ["frequentist", "bayesian"])
def test_edges_have_an_answer_or_a_reason(
    visitors: list[int], conversions: list[int], reason: str | None, method: str
) -> None:
    variant = report_of(observed(visitors, conversions), analysis_method=method).goals[0].variants[1]
    if reason is None:
        assert variant.reason is None
        assert None not in (
            variant.improvement,
            variant.p_value,
            variant.chance_to_beat,
            variant.compared.expected_loss,
        )
    else:
        assert reason in (variant.reason or "")


def test_revenue_without_any_spread_says_why_nothing_is_tested() -> None:
    goal = a_goal(goal_type="revenue", config={})
    fixed = Moments(np.full((1, 2), 500.0), np.full((1, 2), 999.0), np.zeros((1, 2)))
    report = report_of(observed([500, 500], [500, 500], cents=fixed), goals=(goal,))
    assert report.goals[0].variants[1].p_value is None
    assert "no test is possible" in (report.goals[0].variants[1].reason or "")


def test_revenue_near_zero_says_why_there_is_no_range() -> None:
    goal = a_goal(goal_type="revenue", config={})
    noisy = Moments(np.full((1, 2), 500.0), np.array([[5.0, 9.0]]), np.full((1, 2), 500 * 300.0**2))
    variant = report_of(observed([500, 500], [40, 40], cents=noisy), goals=(goal,)).goals[0].variants[1]
    assert variant.improvement == pytest.approx(0.8)
    assert variant.improvement_interval is None
    assert "is not significantly above zero" in (variant.reason or "")


def test_refunds_beyond_sales_leave_no_relative_change() -> None:
    goal = a_goal(goal_type="revenue", config={})
    refunded = Moments(np.full((1, 2), 500.0), np.array([[-5.0, 9.0]]), np.full((1, 2), 500 * 30.0**2))
    variant = report_of(observed([500, 500], [40, 40], cents=refunded), goals=(goal,)).goals[0].variants[1]
    assert (variant.improvement, variant.improvement_interval, variant.details.revenue.improvement) == (
        None,
        None,
        None,
    )
    assert variant.p_value is not None


def test_a_second_winner_is_told_who_does_better() -> None:
    second = report_of(observed([20_000] * 3, [2000, 2400, 2600])).goals[0].variants[1]
    assert second.reason == "it beats 'Control' too, but 'Treatment 2' does better"


def test_experiments_without_goals_or_variants_have_a_report() -> None:
    bare = analyze(an_experiment(variants=(), goals=()), Evidence.empty(0, 0), now=NOW)
    assert (bare.goals, bare.primary) == ((), None)
    alone = analyze(an_experiment(variants=variants_of((1,))), Evidence.empty(1, 1), now=NOW)
    assert alone.goals[0].decision.recommendation == "insufficient_data"


def test_evidence_of_another_experiment_is_refused() -> None:
    with pytest.raises(InvalidEvidenceError, match="conversions must have the shape"):
        analyze(an_experiment(), Evidence.empty(2, 2), now=NOW)


COUNTS = st.integers(0, 300) | st.integers(0, 10**9)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    arms = draw(st.integers(2, 5))
    visitors = [draw(COUNTS) for _ in range(arms)]
    hits = [[draw(st.integers(0, n)) for n in visitors] for _ in range(2)]
    amounts = st.just(0.0) | st.floats(-1e9, 1e9)
    mean = np.array([[draw(amounts) if n else 0.0 for n in visitors] for _ in range(2)])
    m2 = np.array(
        [[draw(st.just(0.0) | st.floats(0, 1e15)) if n > 1 else 0.0 for n in visitors] for _ in range(2)]
    )
    n = np.broadcast_to(np.array(visitors, np.float64), mean.shape)
    aside = draw(st.integers(0, 100))
    return observed(
        visitors, hits, cents=Moments(n, mean, m2), days=draw(st.integers(0, 9)), several_variants=aside
    )


@examples(12, 150, seconds=8)
@given(evidences(), st.sampled_from(["frequentist", "bayesian"]), st.sampled_from([50, 90, 95, 99]))
def test_no_report_holds_nan_or_infinity(evidence: Evidence, method: str, level: int) -> None:
    goals = (
        a_goal(),
        a_goal(id="goal_2", goal_type="revenue", is_primary=False, config={"direction": "decrease"}),
    )
    report = report_of(
        evidence, goals=goals, analysis_method=method, confidence_level=level, status="running"
    )
    assert all(math.isfinite(number) for number in numbers(report))
    for goal in report.goals:
        assert (goal.summary.winner_variant_name is not None) == (
            "winner" in {variant.status for variant in goal.variants}
        )
        for variant in goal.variants:
            missing = variant.improvement is None or variant.p_value is None
            assert variant.is_control or not missing or variant.reason
