"""The forest plot carries the report's numbers, and calls nothing a win before it is one."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.analysis.results.status_words import shown_status
from engine.charts.forest import change_text, chart_improvements
from engine.charts.pictures import chart_svg
from engine.charts.themes import Theme
from tests.builders import NOW, a_goal, an_experiment
from tests.engine.charts.test_report import a_report, rows_of
from tests.observations import observed

GOLDEN = Path(__file__).parent / "golden"


def a_report_of(variants: int, goals: int = 1) -> Report:
    """Analyze goals of which the second is the primary one, where there are two."""
    made = tuple(
        a_goal(id=f"goal_{i}", name=f"Goal {i}", is_primary=i == min(1, goals - 1)) for i in range(goals)
    )
    conversions = [[500] + [560 - 20 * (i % 7) for i in range(variants)] for _ in range(goals)]
    experiment = an_experiment(weights=(1,) * (variants + 1), goals=made, status="completed")
    return analyze(
        experiment, observed([5_000] * (variants + 1), conversions if goals > 1 else conversions[0]), now=NOW
    )


def test_improvements_are_those_of_the_report_and_the_control_has_none() -> None:
    report = a_report()
    _, *variants = report.goals[0].variants
    rows = rows_of(chart_improvements(report))
    assert [row["variant"] for row in rows] == ["Treatment 1", "Treatment 2"]
    for row, variant in zip(rows, variants, strict=True):
        assert variant.improvement_interval is not None
        bounds = variant.improvement_interval.low, variant.improvement_interval.high
        assert (row["improvement"], row["low"], row["high"]) == (variant.improvement, *bounds)
        assert row["label"] == change_text(variant.improvement, variant.improvement_interval)


@pytest.mark.parametrize("variants", [1, 2, 5, 19])
def test_zero_is_inside_the_axis_and_the_legend_has_what_is_drawn(variants: int) -> None:
    chart = chart_improvements(a_report_of(variants))
    rows = rows_of(chart)
    assert len(rows) == variants
    dots = next(layer for layer in chart.to_dict()["spec"]["layer"] if layer["mark"]["type"] == "point")
    low, high = dots["encoding"]["x"]["scale"]["domain"]
    assert low < min(0, *(row["low"] for row in rows))
    assert high > max(0, *(row["high"] for row in rows))
    assert set(dots["encoding"]["color"]["scale"]["domain"]) == {row["status"] for row in rows}


def test_the_primary_goal_is_first_and_goals_of_one_name_stay_apart() -> None:
    report = a_report_of(1, goals=3)
    spec = chart_improvements(report).to_dict()
    assert spec["facet"]["sort"] == ["Goal 1", "Goal 0", "Goal 2"]
    assert spec["title"]["subtitle"] == "95% interval"
    first, *others = report.goals
    twins = replace(report, goals=(replace(first, goal=replace(first.goal, name="Goal 1")), *others))
    assert chart_improvements(twins).to_dict()["facet"]["sort"] == [
        "Goal 1 (goal_1)",
        "Goal 1 (goal_0)",
        "Goal 2",
    ]
    assert {row["goal"] for row in rows_of(chart_improvements(report, "goal_2"))} == {"Goal 2"}
    with pytest.raises(ValueError, match="has no goal 'goal_9'"):
        chart_improvements(report, "goal_9")


def test_fifty_goals_have_a_panel_each() -> None:
    assert len(chart_improvements(a_report_of(1, goals=50)).to_dict()["facet"]["sort"]) == 50


def test_a_win_is_shown_only_with_a_verdict_on_sound_data() -> None:
    won = analyze(an_experiment(status="completed"), observed([5_000, 5_000], [500, 700]), now=NOW)
    broken = analyze(an_experiment(status="completed"), observed([5_000, 4_000], [500, 560]), now=NOW)
    assert won.goals[0].variants[1].status == "winner"
    assert shown_status(won.goals[0].variants[1].status, won.goals[0].decision) == "winner"
    assert broken.goals[0].decision.recommendation == "fix_data"
    assert shown_status("winner", broken.goals[0].decision) == "inconclusive"


def test_no_change_is_0_without_a_sign() -> None:
    assert change_text(0.0, None) == "0%"
    assert change_text(0.031, None) == "+3.1%"
    assert change_text(None, None) == ""


@pytest.mark.parametrize("theme", ["light", "dark", "page"])
def test_pictures_are_as_they_were_reviewed(theme: Theme) -> None:
    svg = chart_svg(chart_improvements(a_report_of(2), theme=theme))
    assert svg == (GOLDEN / f"forest_{theme}.svg").read_text().rstrip("\n")


def test_an_empty_report_says_that_nothing_can_be_compared() -> None:
    report = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    chart = chart_improvements(report)
    assert [row.get("improvement") for row in rows_of(chart)] == [None]
    picture = chart_svg(chart)
    assert "no variant can be compared yet" in picture
    # A panel with the variant's name and no mark: without one, its size would be infinite.
    assert "Treatment" in picture
    assert "e+308" not in picture


def test_a_theme_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="'sepia' is none of light, dark, page"):
        chart_improvements(a_report(), theme="sepia")  # type: ignore[arg-type]
