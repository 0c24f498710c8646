from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.sample_plan import SamplePlan
from engine.design.analysis_settings import Statistics
from engine.design.ramp import Ramp, RampStep, TakenStep
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

BACK_ON_DAY_14 = a_goal(config={"event_name": "visit", "measure": "retained", "from_day": 14})


def plan_of(visitors: list[int], conversions: Any, *, days: int = 10, **fields: Any) -> SamplePlan:
    finished, known = fields.pop("is_finished", False), fields.pop("known", None)
    experiment = an_experiment(**{"weights": (1,) * len(visitors), **fields})
    overrides: dict[str, Any] = {} if known is None else {"observed": np.array([known])}
    evidence = observed(visitors, conversions, days=days, **overrides)
    return prepare(experiment, evidence, is_finished=finished).sample


def test_known_outcomes_are_the_clock_of_a_retention_goal() -> None:
    # 800 visitors a day, of whom those of two days have been away for 15 days.
    sample = plan_of([7_200] * 2, [160, 176], days=18, known=[800] * 2, goals=(BACK_ON_DAY_14,))
    assert (sample.collected, sample.visitors, sample.is_reached) == (1_600, 14_400, False)
    # R: power.prop.test(p1 = .2, p2 = .22, power = .8)$n = 6,510 an arm.
    assert sample.required_visitors == pytest.approx(2 * 6_510, rel=0.01)
    assert sample.progress == pytest.approx(1_600 / (sample.required_visitors or 1))
    # 11,430 outcomes more, of 800 a day.
    assert sample.days_left == 15


def test_the_plan_of_a_retention_goal_is_reached_by_outcomes_or_on_day_56() -> None:
    def plan(known: int, days: int) -> SamplePlan:
        hits = [known // 5] * 2
        return plan_of([400 * days] * 2, hits, days=days, known=[known] * 2, goals=(BACK_ON_DAY_14,))

    assert not plan(6_800, 32).is_reached
    assert plan(7_200, 33).is_reached
    assert plan(5, 56).is_reached


def test_a_sequence_is_tuned_to_the_outcomes_that_are_known_on_day_56() -> None:
    goal = replace(BACK_ON_DAY_14, config={**BACK_ON_DAY_14.config, "minimum_effect_percent": 1})
    sample = plan_of([4_000] * 2, [200, 220], days=20, known=[1_000] * 2, goals=(goal,))
    # 400 visitors a day enter, those of the first 41 days in time.
    assert sample.tuned_to == pytest.approx(400 * 41)
    assert sample.fraction == pytest.approx(2_000 / (400 * 41))


def test_before_the_first_outcome_the_days_left_are_counted_from_it() -> None:
    sample = plan_of([800] * 2, [0, 0], days=2, known=[0, 0], goals=(BACK_ON_DAY_14,))
    assert (sample.collected, sample.fraction, sample.is_reached) == (0, 0.0, False)
    planned = Statistics(planned_sample=8_000)
    given = plan_of([800] * 2, [0, 0], days=2, known=[0, 0], goals=(BACK_ON_DAY_14,), statistics=planned)
    # Outcomes begin 15 days after the first visitors, and 800 a day take ten more.
    assert given.days_left == 15 - 2 + 10


def test_means_with_missing_values_count_the_visitors_with_one() -> None:
    mean = a_goal(config={"event_name": "score", "measure": "value"})
    sample = plan_of([5_000] * 2, [500, 500], known=[1_000, 1_000], goals=(mean,))
    assert (sample.collected, sample.visitors, sample.known_after) == (2_000, 10_000, 0)
    # 2,000 values in ten days, by the 56th day 11,200.
    assert sample.tuned_to == pytest.approx(11_200)


def test_the_default_plan_detects_the_minimum_effect() -> None:
    sample = plan_of([10_000] * 2, [500, 550])
    # R: power.prop.test(p1 = .05, p2 = .055, power = .8)$n = 31,234 an arm.
    assert sample.required_visitors == pytest.approx(2 * 31_234, rel=0.01)
    assert (sample.source, sample.is_reached, sample.minimum_effect) == ("blinded", False, 0.1)
    assert sample.detectable_effect == pytest.approx(0.1, rel=1e-3)
    # 2,000 a day, and 20,000 are in.
    assert sample.days_left == pytest.approx((sample.required_visitors or 0) / 2000 - 10, abs=1)


def test_a_smaller_minimum_effect_of_the_primary_goal_needs_a_larger_sample() -> None:
    goal = a_goal(config={"event_name": "purchase", "minimum_effect_percent": 5})
    sample, default = plan_of([5_000] * 2, [250, 275], goals=(goal,)), plan_of([5_000] * 2, [250, 275])
    assert sample.minimum_effect == 0.05
    # (2 * 1.025 / 1.05)² = 3.81 times the sample.
    ratio = (sample.required_visitors or 0) / (default.required_visitors or 1)
    assert ratio == pytest.approx((0.1 * 1.025 / (0.05 * 1.05)) ** 2, rel=1e-3)
    assert sample.equivalence_margins.tolist() == [0.05]


def test_the_plan_does_not_depend_on_the_difference() -> None:
    assert plan_of([5_000] * 2, [250, 275]).required_visitors == (
        plan_of([5_000] * 2, [200, 325]).required_visitors
    )


def test_a_given_sample_replaces_it_and_narrows_no_difference_to_what_it_detects() -> None:
    sample = plan_of([10_000] * 2, [500, 510], days=14, statistics=Statistics(planned_sample=500_000))
    assert (sample.source, sample.required_visitors) == ("given", 500_000)
    # 20,000 visitors in 14 days, so 480,000 in 336.
    assert sample.days_left == 336
    # a = 2.8016 sqrt(.0505 · .9495 · 4 / 500,000) / .0505 = .03437, and a / (1 - a/2) = .03497.
    assert sample.detectable_effect == pytest.approx(0.03497, rel=1e-3)
    assert sample.equivalence_margins[0] == pytest.approx(sample.detectable_effect)


def test_methods_that_pay_for_their_looks_plan_more_visitors() -> None:
    plain, always = (
        plan_of([5_000] * 2, [250, 275], statistics=Statistics(sequential=method)).required_visitors or 0
        for method in ("none", "always_valid")
    )
    assert 1.4 < always / plain < 1.8


@pytest.mark.parametrize(("days", "factor"), [(7, 1.915), (50, 1.70)])
def test_an_always_valid_plan_counts_the_looks_from_the_second_week_on(days: int, factor: float) -> None:
    # The visitors of the fixed plan times about the factor, all of them within so many days.
    visitors = 70_000
    plain = plan_of([visitors] * 2, [3_500, 3_500], days=days)
    always = plan_of(
        [visitors] * 2, [3_500, 3_500], days=days, statistics=Statistics(sequential="always_valid")
    )
    reached = (plain.required_visitors or 0) * factor
    assert always.required_visitors == pytest.approx(reached, rel=0.01)


def test_a_plan_out_of_reach_ends_on_the_last_day_with_what_it_finds() -> None:
    sample = plan_of([2_800] * 2, [14, 14], days=56)
    assert (sample.is_reached, sample.source, sample.days_left) == (True, "last_day", 0)
    assert (sample.required_visitors or 0) > 5_600
    assert sample.detectable_effect is not None
    assert sample.detectable_effect > 0.5


def test_complete_data_are_their_own_plan() -> None:
    sample = plan_of([500] * 2, [25, 30], days=0, is_finished=True)
    assert (sample.source, sample.is_reached, sample.required_visitors) == ("finished", True, 1000)


@pytest.mark.parametrize("hits", [[0, 0], [500, 500]])
def test_without_variation_there_is_no_sample(hits: list[int]) -> None:
    sample = plan_of([500] * 2, hits, days=0)
    assert sample.required_visitors in {None, 100}
    assert sample.detectable_effect is None


def test_a_guardrail_states_the_harm_that_it_sees_by_the_plan() -> None:
    goals = (
        a_goal(),
        a_goal(id="goal_2", is_primary=False, config={"event_name": "x", "guardrail_margin_percent": 2}),
    )
    evidence = observed([5_000] * 2, [[250, 275], [1000, 1000]], days=10)
    report = analyze(an_experiment(goals=goals), evidence, now=NOW)
    assert report.plan.detectable_harm.keys() == {"goal_2"}
    # Four times the rate needs a quarter of the effect, by the square root of (1 - p)/p.
    expected = 0.1 * np.sqrt((0.8 / 0.2) / (0.9475 / 0.0525))
    assert report.plan.detectable_harm["goal_2"] == pytest.approx(expected, rel=0.05)


def test_revenue_of_unequal_arms_waits_for_the_payers_that_its_test_needs() -> None:
    goal = a_goal(goal_type="revenue", config={"minimum_effect_percent": 500})
    cents = Moments(np.full((1, 2), 1000.0), np.full((1, 2), 50.0), np.full((1, 2), 1e6), np.zeros((1, 2)))
    experiment = an_experiment(weights=(9, 1), goals=(goal,))
    evidence = observed([1000, 1000], [[50, 50]], cents=cents, days=10)
    sample = prepare(experiment, evidence).sample
    # 136 payers in the two arms at 9:1, of 5% of the visitors.
    assert sample.required_visitors == pytest.approx(136 / 0.05)


def test_a_ramp_counts_the_steps_to_come() -> None:
    # Four days at 10%, on which 4,000 entered; 100% comes in one day, and lets in 10,000 a day.
    steps = (RampStep(percent=10, hours=120), RampStep(percent=100))
    ramped = an_experiment(
        status="running",
        started_at=NOW - timedelta(days=4),
        ramp=Ramp(steps=steps),
        ramp_steps=(TakenStep(percent=10, started_at=NOW - timedelta(days=4)),),
        traffic_allocation=10,
        statistics=Statistics(planned_sample=65_000),
    )
    evidence = observed([2_000, 2_000], [200, 210], days=4)
    assert prepare(ramped, evidence, now=NOW).sample.days_left == 1 + 6
    plain = replace(ramped, ramp=None, ramp_steps=())
    assert prepare(plain, evidence, now=NOW).sample.days_left == 61
    # By day 56: 5 days at a tenth, and 51 at all of the traffic.
    blinded = prepare(replace(ramped, statistics=Statistics(minimum_effect_percent=0.5)), evidence, now=NOW)
    assert blinded.sample.tuned_to == pytest.approx(5 * 1_000 + 51 * 10_000)
