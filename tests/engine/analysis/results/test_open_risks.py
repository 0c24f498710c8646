"""Risks that are open in a report."""

from engine.analysis.results.open_risks import open_risks
from tests.builders import a_goal
from tests.engine.analysis.report.situation import Situation


def test_risks_are_the_checks_that_alarm_and_the_guardrails_that_the_variant_breaks() -> None:
    margin = {"event_name": "sign_up", "guardrail_margin_percent": 5}
    guardrail = a_goal(id="goal_2", name="Sign-ups", is_primary=False, config=margin)
    report = Situation(
        visitors=[10_000, 8_000, 10_000],
        conversions=[[1000, 1000, 1000], [2000, 1000, 2000]],
        goals=(a_goal(), guardrail),
    ).report()
    found = {one.risk: one.message for one in open_risks(report, "var_b")}
    assert list(found) == ["sample_ratio", "goal_2"]
    assert found["goal_2"].startswith("'B' breaks the guardrail Sign-ups: ")
    assert [one.risk for one in open_risks(report, "var_c")] == ["sample_ratio"]
