"""Numbers of results: without their unit where it stands beside them, differences with their sign."""

from dataclasses import replace

import pytest

from api.dashboard.results_page.result_formats import (
    bare_metric,
    check_fix,
    difference_interval,
    difference_text,
    dimension_words,
    p_value,
)
from engine.analysis.results.variant_result import Interval, Metric
from engine.analysis.results.verdict_words import CHECK_WORDS
from tests.engine.charts.test_report import a_report

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("unit", "value", "bare", "difference", "interval"),
    [
        ("share", 0.0525, "5.25%", "+18.00 pp", f"{MINUS}40.00 pp to +76.00 pp"),
        ("cents", 343.0, "3.43", "+0.18", f"{MINUS}0.40 to +0.76"),
        ("number", 1.5, "1.5", "+18", f"{MINUS}40 to +76"),
    ],
)
def test_differences_are_in_the_unit_of_the_goal(
    unit: str, value: float, bare: str, difference: str, interval: str
) -> None:
    variant = a_report().goals[0].variants[1]
    size = 0.01 if unit == "share" else 1.0
    comparison = replace(
        variant.compared,
        absolute_difference=18 * size,
        absolute_difference_interval=Interval(low=-40 * size, high=76 * size, level=0.95),
    )
    metric = Metric(name="mean", value=value, unit=unit, currency="USD", n=10)  # type: ignore[arg-type] # by name
    found = replace(variant, metric=metric, comparison=comparison)
    assert bare_metric(metric) == bare
    assert (difference_text(found), difference_interval(found)) == (difference, interval)


def test_what_is_absent_is_a_dash() -> None:
    control = a_report().goals[0].variants[0]
    assert {difference_text(control), difference_interval(control), p_value(None)} == {"\N{EN DASH}"}


def test_dimensions_and_checks_have_words() -> None:
    names = [dimension_words(name) for name in ("device_type", "os", "utm_source", "custom:plan_os")]
    assert names == ["Device type", "OS", "UTM source", "Plan OS"]
    assert all(CHECK_WORDS[name].fix == check_fix(name) for name in CHECK_WORDS)
    assert check_fix("sample_ratio").endswith("start a new test.")
    assert check_fix("of another version") == ""
