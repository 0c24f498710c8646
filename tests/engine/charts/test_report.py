"""Charts are valid, carry the report's numbers, and import Altair when one is drawn."""

import subprocess
import sys
from typing import Any

import altair as alt
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from engine.charts import report as charts
from engine.charts.forest import chart_improvements
from engine.charts.pictures import chart_svg
from tests.builders import NOW, an_experiment
from tests.observations import observed, observed_by_epoch


def a_report() -> Report:
    evidence = observed([5_000, 5_000, 5_000], [500, 600, 510], days=3)
    return analyze(an_experiment(weights=(1, 1, 1)), evidence, now=NOW)


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """The chart's data, once Altair has held the chart against the schema of Vega-Lite."""
    spec = chart.to_dict(validate=True)
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_the_last_day_shows_the_rates_of_the_report() -> None:
    report = a_report()
    last = rows_of(charts.chart_rates(report))[-3:]
    assert [row["value"] for row in last] == [
        pytest.approx(variant.conversion_rate) for variant in report.goals[0].variants
    ]
    assert {row["day"] for row in last} == {"2026-03-04"}


def test_a_goal_that_the_report_does_not_have_has_no_rates() -> None:
    with pytest.raises(ValueError, match="has no goal 'goal_9'"):
        charts.chart_rates(a_report(), "goal_9")


def test_an_empty_report_draws_an_empty_chart() -> None:
    report = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    chart = charts.chart_rates(report)
    assert rows_of(chart) == []
    # Vega fails on days of an axis without data, and gives one without ends an infinite size.
    assert chart_svg(chart).startswith("<svg")
    encoding = chart.to_dict()["encoding"]
    assert encoding["x"]["axis"] is None
    assert [encoding[axis]["scale"]["domain"] for axis in "xy"] == [[0, 1], [0, 1]]


def test_charts_and_calibration_are_imported_without_altair() -> None:
    program = "import sys, engine.charts.report, engine.calibration.chart; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_charts_are_of_the_installed_altair() -> None:
    assert isinstance(charts.chart_rates(a_report()), alt.Chart)
    assert isinstance(chart_improvements(a_report()), alt.FacetChart)


def test_weights_are_drawn_epoch_by_epoch() -> None:
    evidence = observed_by_epoch([[1, 1], [0.1, 0.9]], [[500, 500], [100, 900]], [[50, 60], [10, 108]])
    report = analyze(an_experiment(status="running", weights=(0.1, 0.9)), evidence, now=NOW)
    rows = rows_of(charts.chart_weights(report))
    assert [(row["variant"], row["weight"]) for row in rows] == [
        ("Control", 1.0),
        ("Treatment 1", 1.0),
        ("Control", 0.1),
        ("Treatment 1", 0.9),
    ]
    with pytest.raises(ValueError, match="never changed"):
        charts.chart_weights(a_report())
