"""Cases of decision calibration: samples, effects and margins by the formulas of the plan."""

from dataclasses import replace

import pytest

from engine.calibration.decisions.decision_case import NEVER, DecisionCase

CASE = DecisionCase(rate=0.05, plan_day=28.0)


def test_planned_sample_is_that_of_the_formula() -> None:
    # (1.959964 + 0.841621)² · 0.05 · 0.95 · 1.05² · 4 / (0.1 · 0.05)², by hand.
    assert CASE.planned == pytest.approx(65_765.6, abs=1)
    assert CASE.daily_visitors == pytest.approx([CASE.planned / 56] * 2, abs=1)


def test_traffic_is_split_by_weight_and_reaches_the_plan_near_its_day() -> None:
    uneven = replace(CASE, weights=(9.0, 1.0, 1.0))
    daily = uneven.daily_visitors
    assert daily[0] / daily[1] == pytest.approx(9, rel=0.01)
    assert uneven.planned / daily.sum() == pytest.approx(28, rel=0.01)


def test_a_plan_of_late_outcomes_is_reached_by_those_who_entered_before() -> None:
    # Day-14 retention of 20%: 13,846 outcomes, of visitors who came on 17.3 days.
    late = DecisionCase(rate=0.2, plan_day=31.3, known_after=14)
    assert late.planned == 13_846
    assert late.daily_visitors == pytest.approx([400.0, 400.0], abs=1)
    assert late.name == "20%, known after 14 days"


def test_a_plan_that_is_never_reached_aims_at_what_its_last_day_can_find() -> None:
    never = replace(CASE, plan_day=NEVER)
    assert CASE.planned_effect == 0.1
    # 56 of 140 days: the root of 2.5 times the effect, a little more as the pooled mean holds half of it.
    assert never.planned_effect == pytest.approx(0.1 * 2.5**0.5, rel=0.05)
    assert never.plan_label == "never"
    assert CASE.plan_label == "day 28"


def test_margin_of_a_given_sample_is_what_that_detects_where_it_is_smaller() -> None:
    assert CASE.equivalence_margin == 0.1
    small = replace(CASE, method="planned", minimum_effect=0.03)
    assert small.relevant_effect == 0.1
    assert small.equivalence_margin == pytest.approx(0.03, rel=1e-3)
    assert replace(small, minimum_effect=0.2).equivalence_margin == pytest.approx(0.2, rel=1e-3)


def test_always_valid_and_group_sequential_plans_are_larger() -> None:
    fixed, always, group = (
        replace(CASE, method=method).planned for method in ("planned", "always valid", "group sequential")
    )
    assert fixed == CASE.planned < group < always
