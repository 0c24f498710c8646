"""Charts over time: the same numbers as the lifts by day, placed in percent of the plot."""

from datetime import date, timedelta

import pytest

from api.dashboard.results_page.plot import Days, Scale, band_of
from api.dashboard.results_page.time_charts import draw_change, draw_rate, draw_visitors
from engine.analysis.analyze import analyze
from engine.analysis.report.lift_by_day import lift_by_day
from engine.analysis.results.formatting import share, signed
from engine.analysis.results.report import Report
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed


def a_report(**goal: object) -> Report:
    experiment = an_experiment(status="completed", goals=(a_goal(**goal),))
    return analyze(experiment, observed([5000, 5000], [500, 600], days=10), now=NOW)


def test_a_change_is_drawn_with_both_bands_and_told_by_day() -> None:
    report = a_report()
    goal, shown = report.goals[0], report.goals[0].variants[1]
    plot = draw_change(report, goal, shown, 0.1)
    assert plot is not None
    lifts = lift_by_day(report, goal)
    (line,) = plot.lines
    places = [tuple(map(float, point.split(","))) for point in line.points.split()]
    assert places == [(plot.days.at(one.day), plot.scale.at(one.lift)) for one in lifts]
    assert [band.look for band in plot.bands] == ["every", "once"]
    assert len(plot.readings) == len(lifts)
    assert signed(lifts[-1].lift) in plot.readings[-1].text
    assert f"{lifts[-1].visitors:,} visitors" in plot.readings[-1].text
    assert plot.end is not None
    assert plot.end[:3] == (100, plot.scale.at(lifts[-1].lift), signed(lifts[-1].lift))
    top, height = plot.zone or (0.0, 0.0)
    assert (top, top + height) == pytest.approx((plot.scale.at(0.1), plot.scale.at(-0.1)), abs=0.02)


def test_rates_and_visitors_end_at_those_of_the_table() -> None:
    report = a_report()
    goal = report.goals[0]
    rates = draw_rate(goal, goal.variants[1])
    visitors = draw_visitors(goal)
    assert rates is not None
    assert visitors is not None
    for variant in goal.variants:
        assert f"{variant.variant_name} {share(variant.conversion_rate)}" in rates.readings[-1].text
    assert len(visitors.readings) == len(goal.days) == 10
    assert "9,998 visitors (Control 4,999, Treatment 1 4,999)" in visitors.readings[0].text
    # Every bar has its own place, and all of them fill the width.
    assert [one.at for one in visitors.readings] == pytest.approx([10 * place for place in range(10)])


def test_a_goal_without_days_has_its_visitors_alone() -> None:
    report = a_report(config={"event_name": "load", "measure": "retained", "from_day": 1, "to_day": 2})
    goal = report.goals[0]
    assert draw_change(report, goal, goal.variants[1], 0.1) is None
    assert draw_rate(goal, goal.variants[1]) is None
    assert draw_visitors(goal) is not None


def test_places_are_inside_and_numbers_round() -> None:
    days = Days(date(2026, 3, 1), date(2026, 3, 11))
    assert [days.at(days.first + timedelta(days=one)) for one in (-3, 0, 5, 10, 99)] == [0, 0, 50, 100, 100]
    alone = Days(days.first, days.first)
    assert alone.at(days.first) == 50
    scale = Scale(-0.13, 0.41, signed)
    assert [label for label, _, _ in scale.ticks] == [
        "\N{MINUS SIGN}10%",
        "0%",
        "+10%",
        "+20%",
        "+30%",
        "+40%",
    ]
    assert [is_zero for _, _, is_zero in scale.ticks].index(True) == 1
    assert (scale.at(9), scale.at(-9)) == (0, 100)
    # A day alone has some width.
    outline = band_of(alone, Scale(0, 1, signed), [(days.first, 0.2, 0.8)])
    assert outline == "48.5,20 51.5,20 51.5,80 48.5,80"
