"""The chart of the lift by day is drawn from the lifts, within an axis that the last days can be read on."""

from typing import Any

import altair as alt
import pytest

from engine.analysis.analyze import analyze
from engine.charts.lift_over_time import chart_lift
from engine.charts.pictures import chart_svg
from tests.builders import NOW, an_experiment
from tests.engine.analysis.report.test_lift_by_day import report_of, steady
from tests.observations import observed


def test_a_panel_a_variant_with_both_bands() -> None:
    chart = chart_lift(report_of(steady((0.1, 0.12, 0.09))))
    assert isinstance(chart, alt.FacetChart)
    spec: dict[str, Any] = chart.to_dict(validate=True)
    rows = spec["data"]["values"]
    assert {row["variant"] for row in rows} == {"Treatment 1", "Treatment 2"}
    assert "every look" in spec["title"]["subtitle"]
    low, high = spec["spec"]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    for row in rows:
        assert low <= row["all_looks_low"] <= row["one_look_low"] < row["lift"]
        assert row["lift"] < row["one_look_high"] <= row["all_looks_high"] <= high
    assert "Treatment 2" in chart_svg(chart)


def test_many_panels_are_smaller_and_beside_each_other() -> None:
    few, many = (chart_lift(report_of(steady((0.1,) * number))).to_dict(validate=True) for number in (4, 20))
    assert (few["columns"], many["columns"]) == (1, 2)
    assert many["spec"]["height"] < few["spec"]["height"]
    # On a page of ten rows and not of nineteen.
    drawn = chart_svg(chart_lift(report_of(steady((0.1,) * 20))))
    height = float(drawn.partition('height="')[2].partition('"')[0])
    assert height < 2_000


def test_a_bayesian_experiment_has_one_band() -> None:
    spec = chart_lift(report_of(steady((0.1, 0.12)), analysis_method="bayesian")).to_dict(validate=True)
    assert spec["title"]["subtitle"].endswith("interval, for one look")
    assert {row["all_looks_low"] for row in spec["data"]["values"]} == {None}


def test_an_experiment_without_conversions_is_drawn_empty() -> None:
    chart = chart_lift(analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW))
    assert "no day has enough conversions" in chart.to_dict(validate=True)["title"]["subtitle"]
    assert chart_svg(chart).startswith("<svg")


def test_a_goal_that_the_report_does_not_have_is_named() -> None:
    with pytest.raises(ValueError, match="has no goal 'goal_9'"):
        chart_lift(report_of(steady((0.1, 0.12))), "goal_9")
