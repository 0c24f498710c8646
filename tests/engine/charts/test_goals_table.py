"""The table of goals has the report's numbers, a row a goal and variant, the primary goal first."""

from typing import Any

from engine.analysis.analyze import analyze
from engine.charts.goals_table import chart_goals
from engine.charts.pictures import chart_svg
from tests.builders import NOW, an_experiment
from tests.engine.charts.test_forest import a_report_of
from tests.observations import observed


def cells_of(chart: Any) -> list[dict[str, Any]]:
    """The rows of the table, as its first columns of text have them."""
    spec = chart.to_dict(validate=True)
    rows: list[dict[str, Any]] = spec["hconcat"][0]["data"]["values"]
    return rows


def test_rows_have_the_numbers_of_the_report() -> None:
    report = a_report_of(2, goals=3)
    rows = cells_of(chart_goals(report))
    assert [row["goal"] for row in rows[::2]] == ["Goal 1 (primary)", "Goal 0", "Goal 2"]
    by_name = {goal.goal.name: goal for goal in report.goals}
    for row in rows:
        goal = by_name[row["goal"].removesuffix(" (primary)")]
        variant = next(one for one in goal.variants if one.variant_name == row["variant"])
        assert (row["improvement"], row["p_value"]) == (variant.improvement, variant.p_value)
        assert variant.improvement_interval is not None
        assert (row["low"], row["high"]) == (
            variant.improvement_interval.low,
            variant.improvement_interval.high,
        )
        assert row["control"] == "10%"
        assert row["evidence"].startswith("p ")


def test_bars_are_on_one_axis_with_every_interval_inside() -> None:
    spec = chart_goals(a_report_of(2, goals=3)).to_dict()
    bars = spec["hconcat"][1]
    low, high = bars["layer"][0]["encoding"]["x"]["scale"]["domain"]
    rows = bars["data"]["values"]
    assert len(rows) == 6
    assert low < min(row["from"] for row in rows) <= max(row["to"] for row in rows) < high


def test_rows_beyond_the_limit_are_counted() -> None:
    chart = chart_goals(a_report_of(2, goals=3), most_rows=4)
    assert len(cells_of(chart)) == 4
    assert chart.to_dict()["title"]["subtitle"] == "and 2 more rows"


def test_a_table_without_a_change_is_drawn() -> None:
    report = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    assert chart_svg(chart_goals(report)).startswith("<svg")
