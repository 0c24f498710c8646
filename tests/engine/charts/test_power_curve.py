"""The power curve has the power of the test with the rates and visitors of the report."""

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.charts.power_curve import chart_power, power_curve
from engine.design.planning.sample_size import Mean, Plan, Share, power_with
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Revenue
from tests.builders import NOW, an_experiment
from tests.engine.analysis.results.test_flat_results import visitors
from tests.engine.charts.test_report import a_report, rows_of
from tests.observations import observed


def test_the_power_is_that_of_the_visitors_so_far() -> None:
    report = analyze(an_experiment(status="completed"), observed([5_000, 5_000], [500, 510]), now=NOW)
    rows = [row for row in power_curve(report, report.goals[0]) if row["sample"] == "10,000 visitors so far"]
    near = min(rows, key=lambda row: abs(row["lift"] - 0.2))
    # From power_proportions_2indep of statsmodels: 0.8919 for 12% against 10% of 5,000 each.
    assert float(power_with(Share(0.1), 0.2, 5_000, Plan())) == pytest.approx(0.89189748, abs=1e-6)
    assert near["power"] == pytest.approx(float(power_with(Share(0.1), near["lift"], 5_000, Plan())))


def test_the_plan_detects_its_lift_with_four_fifths_power() -> None:
    report = analyze_frame(visitors(), control="old", goals=["bought"], timestamp="at", running=True)
    rows = [row for row in power_curve(report, report.goals[0]) if "at the plan" in row["sample"]]
    near = min(rows, key=lambda row: abs(row["power"] - 0.8))
    assert near["lift"] == pytest.approx(report.plan.detectable_effect, rel=0.1)


def test_two_comparisons_share_the_error() -> None:
    report = a_report()
    rows = [row for row in power_curve(report, report.goals[0]) if "so far" in row["sample"]]
    near = min(rows, key=lambda row: abs(row["power"] - 0.5))
    assert near["power"] == pytest.approx(
        float(power_with(Share(0.1), near["lift"], 5_000, Plan(comparisons=2)))
    )
    assert near["power"] < float(power_with(Share(0.1), near["lift"], 5_000, Plan())) - 0.05


def test_a_mean_has_the_spread_of_its_interval() -> None:
    report = analyze_frame(visitors(), control="old", goals={"spent": Revenue()})
    spent = visitors()["spent"].to_numpy()
    deviation = np.sqrt((spent[::2].var(ddof=1) + spent[1::2].var(ddof=1)) / 2)
    rows = power_curve(report, report.goals[0])
    near = min(rows, key=lambda row: abs(row["power"] - 0.5))
    by_data = power_with(Mean(spent[::2].mean(), deviation), near["lift"], len(spent) / 2, Plan())
    assert near["power"] == pytest.approx(float(by_data), abs=0.03)


def test_the_chart_has_the_curve_and_names_the_looks() -> None:
    report = a_report()
    chart = chart_power(report)
    assert rows_of(chart) == power_curve(report, report.goals[0])
    assert "one look" in chart.to_dict()["title"]["subtitle"]


def test_without_visitors_there_is_no_power_to_draw() -> None:
    empty = analyze(an_experiment(), observed([0, 0], [0, 0]), now=NOW)
    with pytest.raises(ValueError, match="spread of"):
        chart_power(empty)
    alone = replace(empty.goals[0], variants=empty.goals[0].variants[:1])
    with pytest.raises(ValueError, match="no control to compare"):
        power_curve(empty, alone)
