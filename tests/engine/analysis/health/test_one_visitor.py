"""Tests that one visitor decides, or hides: no ship, and no alarm about a sound win."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import truelift
from engine.analysis.health.one_visitor import one_visitor
from engine.analysis.results.report import DecisionSummary, HealthCheck, Report
from tests.builders import a_goal, an_experiment
from tests.examples import trials
from tests.observations import check_input, observed

N = 2_000
CLICKS: Any = {"clicks per view": truelift.Ratio("clicks", "views")}


def visits(seed: int, *, robot: tuple[int, int, int] | None = None, lift: float = 0.0) -> pl.DataFrame:
    """Build visitors of A and B with views and clicks; the robot has a place, views and clicks of its own."""
    rng = np.random.default_rng(seed)
    views = rng.poisson(4, 2 * N) + 1
    clicks = rng.binomial(views, np.repeat([0.1, 0.1 * (1 + lift)], N))
    if robot is not None:
        place, views[robot[0]], clicks[robot[0]] = robot
        assert place == robot[0]
    return pl.DataFrame({"variant": np.repeat(["A", "B"], N), "views": views, "clicks": clicks})


def decision_of(report: Report) -> DecisionSummary:
    assert report.primary is not None
    return report.primary.decision


def check_of(report: Report) -> HealthCheck:
    (found,) = [one for one in report.health if one.check == "one_visitor"]
    return found


@pytest.mark.parametrize("robot", [(0, 10_000, 0), (2 * N - 1, 10**6, 10**6)])
def test_a_visitor_with_most_of_the_views_wins_for_nobody(robot: tuple[int, int, int]) -> None:
    report = truelift.analyze(visits(3, robot=robot), control="A", goals=CLICKS)
    assert decision_of(report).recommendation == "insufficient_data"
    assert "of its 'views', and a comparison allows 20%" in decision_of(report).explanation


def orders(whale: float, *, lift: float = 1.4) -> pl.DataFrame:
    """Build 1,800 visitors of A and 200 of B, who seem to spend more; one of B spends much more."""
    rng = np.random.default_rng(4)
    spent = np.where(rng.random(N) < 0.3, rng.lognormal(3, 0.5, N), 0.0) * np.repeat(
        [1.0, lift], [1_800, 200]
    )
    spent[-1] = whale
    return pl.DataFrame({"variant": np.repeat(["A", "B"], [1_800, 200]), "spent": spent})


def test_a_win_of_a_small_variant_that_two_visitors_make_is_reviewed() -> None:
    weights = {"A": 9.0, "B": 1.0}
    report = truelift.analyze(orders(500.0), control="A", goals={"spent": "revenue"}, weights=weights)
    decision, check = decision_of(report), check_of(report)
    assert (decision.recommendation, decision.reason) == ("review", "one_visitor")
    assert check.message.startswith("On spent the result of 'B' rests on two visitors of 'B' with 27")
    assert check.message in decision.explanation
    (found,) = check.details["made"]
    small = orders(500.0).filter(variant="B").sort("spent")
    others = pl.concat([orders(500.0).filter(variant="A"), small.head(-2)])
    rest = truelift.analyze(others, control="A", goals={"spent": "revenue"}, weights=weights)
    assert found["improvement_without"] == pytest.approx(rest.goals[0].variants[1].improvement)
    assert report.due_look is None
    assert decision_of(rest).reason == "undecided"


def test_a_loss_that_two_visitors_make_is_no_rollback() -> None:
    goals: Any = {"spent": truelift.Revenue(less_is_better=True)}
    report = truelift.analyze(orders(500.0), control="A", goals=goals, weights={"A": 9.0, "B": 1.0})
    assert (decision_of(report).recommendation, decision_of(report).reason) == ("review", "one_visitor")


def test_a_visitor_alone_makes_no_win_of_a_small_variant() -> None:
    for whale in (500.0, 5_000.0, 50_000.0):
        frame = orders(whale, lift=1.0)
        report = truelift.analyze(
            frame, control="A", goals={"spent": "revenue"}, weights={"A": 9.0, "B": 1.0}
        )
        assert decision_of(report).reason == "undecided"


def test_a_sound_win_ships() -> None:
    report = truelift.analyze(visits(3, lift=0.5), control="A", goals=CLICKS)
    assert decision_of(report).recommendation == "ship"
    assert check_of(report).status == "ok"


def test_a_visitor_who_hides_a_difference_is_a_warning_only() -> None:
    rng = np.random.default_rng(3)
    spent = np.where(rng.random(2 * N) < 0.1, rng.lognormal(3, 0.5, 2 * N), 0) * np.repeat([1.0, 1.6], N)
    spent[5] = 3_000.0
    frame = pl.DataFrame({"variant": np.repeat(["A", "B"], N), "spent": spent})
    report = truelift.analyze(frame, control="A", goals={"spent": "revenue"})
    check = check_of(report)
    assert decision_of(report).reason == "undecided"
    assert check.status == "warning"
    assert check.message.startswith("On spent one visitor of 'A' with ")
    assert check.message.endswith("Consider a cap before the next test.")
    assert not check.details["made"]


def test_no_visitor_hides_a_difference_of_a_quantile() -> None:
    spent = np.random.default_rng(3).lognormal(3, 1, 2 * N) * np.repeat([1.0, 1.3], N)
    spent[0] = 1e6
    frame = pl.DataFrame({"variant": np.repeat(["A", "B"], N), "spent": spent})
    goals: Any = {"spent": truelift.Quantile("spent", q=0.5), "mean": truelift.Ratio("spent", "one")}
    report = truelift.analyze(frame.with_columns(one=1.0), control="A", goals={"spent": goals["spent"]})
    assert check_of(report).status == "not_applicable"
    both = truelift.analyze(frame.with_columns(one=1.0), control="A", goals=goals)
    assert check_of(both).status == "warning"
    assert check_of(both).message.startswith("On mean one visitor of 'A'")
    assert {one["goal"] for one in check_of(both).details["hidden"]} == {"mean"}


def test_sums_cannot_tell_and_this_is_said() -> None:
    sums = {
        "variant": ["A", "B"],
        "visitors": [N, N],
        "spent": [200, 260],
        "spent_sum": [4_000.0, 6_000.0],
        "spent_squares": [2e5, 3e5],
    }
    report = truelift.analyze(sums=sums, control="A", goals={"spent": "revenue"})
    assert decision_of(report).recommendation == "ship"
    assert check_of(report).status == "not_applicable"
    assert check_of(report).message == (
        "Whether one visitor decides spent is not checked: single visitors are not known of sums and of"
        " segments."
    )


def test_conversions_are_no_means() -> None:
    check = one_visitor(check_input(an_experiment(goals=(a_goal(),)), observed([N] * 2, [100, 200])))
    assert (check.status, check.message) == (
        "not_applicable",
        "No goal is a mean or a ratio, which one visitor could make.",
    )


@pytest.mark.many(seconds=5)
def test_sound_wins_of_heavy_tailed_revenue_hang_on_nobody() -> None:
    """Of 2,000 to 5,000 simulated wins of lognormal revenue none turned (deviations of logs 1.2 and 2)."""
    rng = np.random.default_rng(11)
    wins = turned = 0
    for _ in range(trials(30, 300)):
        spent = np.where(rng.random(2 * N) < 0.1, rng.lognormal(3, 1.2, 2 * N), 0.0)
        spent[N:] *= 1.6
        frame = pl.DataFrame({"variant": np.repeat(["A", "B"], N), "spent": spent})
        decision = decision_of(truelift.analyze(frame, control="A", goals={"spent": "revenue"}))
        wins += decision.recommendation == "ship"
        turned += decision.reason == "one_visitor"
    assert wins >= 10
    assert turned == 0
