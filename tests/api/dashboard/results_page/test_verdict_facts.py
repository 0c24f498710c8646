"""Facts beside the verdict: they say what the sentences say."""

from typing import Any

import pytest

from api.dashboard.results_page.verdict_facts import facts_of, round_money
from engine.analysis.analyze import analyze
from engine.analysis.results.report import Report
from tests.builders import NOW, an_experiment
from tests.observations import observed


def a_report(conversions: list[int], **experiment: Any) -> Report:
    return analyze(an_experiment(**experiment), observed([5000, 5000], conversions, days=20), now=NOW)


def facts(report: Report, *, part: str = "") -> dict[str, tuple[str, str]]:
    leader = report.goals[0].variants[1]
    found = facts_of(report, leader, reached_on=None, part=part)
    return {one.label: (one.value, one.note) for one in found}


def test_a_running_test_waits_for_its_plan() -> None:
    report = a_report([500, 505], status="running")
    found = facts(report)
    assert found["Safe to stop"] == ("No", "wait for the plan")
    assert found["Visitors"][0] == "10,000"
    assert f"{report.plan.required_visitors:,} planned" in found["Visitors"][1]
    p = report.goals[0].variants[1].p_value
    assert p is not None
    assert found["By chance alone"] == (f"p = {p:.2g}", "at one look; 0.05 is needed")


def test_a_part_of_the_visitors_has_no_plan_of_its_own() -> None:
    assert facts(a_report([500, 505], status="running"), part="a part of all").keys() == {
        "Visitors",
        "By chance alone",
    }


def test_a_bayesian_test_tells_its_chance() -> None:
    found = facts(a_report([500, 560], status="running", analysis_method="bayesian"))
    assert found["Chance to beat control"][0].endswith("%")
    assert found["Chance to beat control"][1] == "95% is needed"


@pytest.mark.parametrize(
    ("cents", "currency", "words"),
    [
        (124_000_000, "USD", "1.24 million USD"),
        (-4_119_853, "USD", "\N{MINUS SIGN}41,200 USD"),
        (81_250, "USD", "812.50 USD"),
        (4_119_853, "JPY", "4.12 million JPY"),
    ],
)
def test_money_is_rounded_to_what_is_read(cents: int, currency: str, words: str) -> None:
    assert round_money(cents, currency) == words
