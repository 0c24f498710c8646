"""Lines of a report: every goal with its p value, and of many goals those that a decision is about."""

from typing import Any

from engine.analysis.analyze import analyze
from engine.analysis.results.formatting import interval_text
from engine.analysis.results.report import Report
from engine.display.report_lines import lines_of_report
from tests.builders import NOW, a_goal, an_experiment
from tests.observations import observed

GUARDRAIL = {"event_name": "refund", "direction": "decrease", "guardrail_margin_percent": 2}


def reported(conversions: list[list[int]], **fields: Any) -> Report:
    goals = tuple(
        a_goal(
            id=f"g{row}",
            name=f"Goal {row}",
            is_primary=row == 2,
            **({"config": GUARDRAIL} if row == 1 else {}),
        )
        for row in range(len(conversions))
    )
    experiment = an_experiment(goals=goals, status="completed", **fields)
    return analyze(experiment, observed([5_000, 5_000], conversions), now=NOW)


def test_a_goal_has_its_change_interval_and_p_value() -> None:
    report = reported([[500, 505]] * 3)
    line = list(lines_of_report(report))[3]
    interval = interval_text(report.goals[2].variants[1].improvement_interval)
    # p from proportions_ztest of statsmodels, 505 of 5,000 against 500 of 5,000: 0.8679.
    assert line == f"Goal 2: Treatment 1 +1% ({interval}, p = 0.87)"


def test_a_bayesian_goal_has_the_chance_to_beat_the_control() -> None:
    lines = list(lines_of_report(reported([[500, 505]] * 3, analysis_method="bayesian")))
    assert "chance to beat the control" in lines[3]
    assert "p =" not in lines[3]


def test_the_primary_goal_the_guardrail_and_decided_goals_come_first() -> None:
    counts = [[500, 505]] * 9
    counts[6] = [500, 700]
    lines = list(lines_of_report(reported(counts)))
    assert [one.partition(":")[0] for one in lines[3:8]] == [
        "Goal 2",
        "Goal 1 (guardrail)",
        "Goal 6",
        "Goal 0",
        "Goal 3",
    ]
    assert lines[8] == "… and 4 more goals"
    assert len(lines) == 10


def test_six_goals_have_a_line_each() -> None:
    lines = list(lines_of_report(reported([[500, 505]] * 6)))
    assert len(lines) == 10
    assert not any("more goals" in one for one in lines)
