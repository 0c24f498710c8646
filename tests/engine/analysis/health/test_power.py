from datetime import timedelta

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.power import underpowered
from engine.design.analysis_settings import Statistics
from tests.builders import STARTED, a_goal, an_experiment
from tests.observations import check_input, observed


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (observed([40_000] * 2, [2_000] * 2), "ok"),
        (observed([1_000] * 2, [50] * 2), "warning"),
    ],
)
def test_status_follows_the_evidence(evidence: Evidence, status: str) -> None:
    assert underpowered(check_input(an_experiment(weights=(1, 1)), evidence)).status == status


@pytest.mark.parametrize(
    ("conversions", "recommendation", "status"),
    [
        ([50, 150], "ship", "not_applicable"),
        ([150, 50], "rollback", "not_applicable"),
        ([50, 55], "keep_running", "warning"),
    ],
)
def test_a_decided_experiment_needs_no_more_power(
    conversions: list[int], recommendation: str, status: str
) -> None:
    now = STARTED + timedelta(days=8)
    evidence = observed([1_000] * 2, conversions, days=8)
    report = analyze(an_experiment(status="running"), evidence, now=now)
    assert report.goals[0].decision.recommendation == recommendation
    (check,) = [check for check in report.health if check.check == "underpowered"]
    assert check.status == status
    assert check.details["detectable_change"] > 0.1


def test_a_test_that_detects_no_sensible_change_says_so_in_numbers() -> None:
    check = underpowered(check_input(an_experiment(weights=(1, 1)), observed([300] * 2, [5, 5])))
    assert check.status == "warning"
    assert check.message == (
        "The test cannot detect any sensible change of Purchase yet: with 10 conversions among 600 visitors,"
        " even a doubling would probably be missed."
    )
    assert "%" not in check.message


def test_a_plan_too_small_to_show_guardrails_within_their_margins_is_a_warning_with_its_power() -> None:
    guardrail = a_goal(
        id="goal_2", is_primary=False, config={"event_name": "x", "guardrail_margin_percent": 4}
    )
    for planned, status in ((40_000, "warning"), (200_000, "ok")):
        settings = Statistics(guardrails="non_inferior", planned_sample=planned)
        experiment = an_experiment(weights=(1, 1), goals=(a_goal(), guardrail), statistics=settings)
        evidence = observed([planned // 2] * 2, [[planned // 20] * 2] * 2)
        check = underpowered(check_input(experiment, evidence))
        assert check.status == status
        # Φ(.004 / sqrt(.09 · 4 / 40,000) - 1.645) = 37.8%
        assert ("with 37.8% power only, where 90% is needed" in check.message) == (planned == 40_000)


def test_an_alarm_comes_before_a_decision() -> None:
    evidence = observed([1_000, 3_000], [50, 450], days=8)
    report = analyze(an_experiment(status="running"), evidence, now=STARTED + timedelta(days=8))
    assert report.goals[0].decision.recommendation == "fix_data"
