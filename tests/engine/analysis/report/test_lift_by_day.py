"""Lifts by day: on the last day those of the report, and bands as wide as the looks so far allow."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.report.goal_days import Day, GoalDays
from engine.analysis.report.lift_by_day import lift_by_day
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import Interval
from engine.design.analysis_settings import Statistics
from engine.stats.moments import Moments
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import MONDAY, observed, observed_by_epoch

DAYS = 12


def evidence_of(by_day: Any) -> Evidence:
    """Evidence of days by variants by (visitors, conversions)."""
    counts = np.asarray(by_day, np.int64)
    visitors, conversions = counts[..., 0], counts[..., 1]
    days = tuple(MONDAY + timedelta(days=day) for day in range(len(counts)))
    nothing = np.zeros((len(counts), 1, counts.shape[1]), np.int64)
    daily = DailyEvidence(
        days=days, visitors=visitors, conversions=conversions[:, None, :], revenue_cents=nothing
    )
    return replace(observed(visitors.sum(axis=0), conversions.sum(axis=0)), daily=daily)


def steady(rates: tuple[float, ...], visitors: int = 400) -> Evidence:
    return evidence_of([[(visitors, round(visitors * rate)) for rate in rates]] * DAYS)


def report_of(evidence: Evidence, **fields: Any) -> Report:
    variants = len(evidence.visitors)
    return analyze(an_experiment(weights=(1,) * variants, **fields), evidence, now=NOW)


def bounds(interval: Interval | None) -> tuple[Any, ...]:
    assert interval is not None
    return interval.low, interval.high, interval.level


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"statistics": Statistics(sequential="always_valid")},
        {"statistics": Statistics(alternative="one_sided")},
        {"analysis_method": "bayesian"},
    ],
    ids=["one_look", "always_valid", "one_sided", "bayesian"],
)
@pytest.mark.parametrize("rates", [(0.1, 0.12), (0.1, 0.12, 0.09)], ids=["two", "three"])
def test_the_last_day_is_that_of_the_report(rates: tuple[float, ...], fields: dict[str, Any]) -> None:
    report = report_of(steady(rates), **fields)
    goal = report.goals[0]
    last = {one.variant_id: one for one in lift_by_day(report, goal) if one.day == goal.days[-1][0]}
    assert set(last) == {variant.variant_id for variant in goal.variants[1:]}
    for variant in goal.variants[1:]:
        found = last[variant.variant_id]
        assert found.lift == pytest.approx(variant.improvement)
        assert found.visitors == variant.visitors
        if fields.get("statistics", Statistics()).sequential == "none":
            assert bounds(found.interval) == pytest.approx(bounds(variant.improvement_interval))
        if variant.compared.sequential_interval is None:
            assert found.always_valid is None
        else:
            assert bounds(found.always_valid) == pytest.approx(bounds(variant.compared.sequential_interval))


def test_the_band_of_all_looks_holds_that_of_one_and_both_become_narrow() -> None:
    report = report_of(steady((0.1, 0.11)))
    lifts = lift_by_day(report, report.goals[0])
    assert len(lifts) == DAYS
    widths = []
    for one in lifts:
        (low, high, _), (lower, higher, _) = bounds(one.interval), bounds(one.always_valid)
        assert lower < low < one.lift < high < higher
        widths.append((high - low, higher - lower))
    assert widths == sorted(widths, reverse=True)


def test_days_with_too_few_conversions_are_left_out() -> None:
    # 4 conversions a day and variant: 25 are expected from the seventh day on.
    report = report_of(steady((0.01, 0.01)))
    days = [one.day for one in lift_by_day(report, report.goals[0])]
    assert days == [MONDAY + timedelta(days=day) for day in range(6, DAYS)]


def test_the_lift_of_one_variant_is_that_of_all() -> None:
    report = report_of(steady((0.1, 0.12, 0.09)))
    goal = report.goals[0]
    asked = goal.variants[2].variant_id
    expected = tuple(one for one in lift_by_day(report, goal) if one.variant_id == asked)
    assert len(expected) == DAYS
    assert lift_by_day(report, goal, variant_id=asked) == expected


def test_days_are_made_as_often_for_many_variants_as_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = GoalDays.__getitem__

    def counted(days: GoalDays, place: int) -> Day:
        made.append(place)
        return make(days, place)

    monkeypatch.setattr(GoalDays, "__getitem__", counted)
    for rates in ((0.1, 0.12), (0.1, *(0.12,) * 9)):
        report = report_of(steady(rates))
        made.clear()
        lift_by_day(report, report.goals[0])
        # Each read of all days asks for one more, which ends it.
        assert DAYS < len(made) <= 3 * (DAYS + 1)


def test_planned_looks_have_no_band_between_them() -> None:
    planned = Statistics(sequential="group_sequential", planned_sample=20_000)
    report = report_of(steady((0.1, 0.12)), statistics=planned)
    assert {one.always_valid for one in lift_by_day(report, report.goals[0])} == {None}


def test_an_experiment_without_days_has_no_lifts() -> None:
    report = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    assert lift_by_day(report, report.goals[0]) == ()


def test_what_is_not_known_by_day_is_refused() -> None:
    split = observed_by_epoch([[1, 1], [0.1, 0.9]], [[500, 500], [100, 900]], [[50, 60], [10, 108]])
    report = analyze(an_experiment(status="running", weights=(0.1, 0.9)), split, now=NOW)
    with pytest.raises(ValueError, match="weights changed"):
        lift_by_day(report, report.goals[0])
    n = np.array([[500.0, 500.0]])
    cents = Moments(n, n * 100, n * 30_000)
    paid = analyze(
        an_experiment(goals=(a_goal(goal_type="revenue"),)),
        observed([500, 500], [50, 60], cents=cents),
        now=NOW,
    )
    with pytest.raises(ValueError, match="no conversion rate"):
        lift_by_day(paid, paid.goals[0])
    prior = Statistics(prior="lift")
    informed = report_of(steady((0.1, 0.12)), analysis_method="bayesian", statistics=prior)
    with pytest.raises(ValueError, match="under a prior"):
        lift_by_day(informed, informed.goals[0])
