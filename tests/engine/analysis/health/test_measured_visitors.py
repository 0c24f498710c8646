"""Goals that are measured of some visitors: of as many of each variant, or not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import truelift
from engine.analysis.analyze import analyze
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.measured_visitors import measured_visitors
from engine.analysis.results.report import Report
from tests.builders import NOW, STARTED, a_goal, an_experiment
from tests.observations import check_input, observed, observed_by_epoch

PRIMARY = a_goal(config={"event_name": "time", "measure": "value"})
SECONDARY = a_goal(
    id="goal_2", name="Load time", is_primary=False, config={"event_name": "time", "measure": "value"}
)
GUARDRAIL = a_goal(
    id="goal_2",
    name="Load time",
    is_primary=False,
    config={"event_name": "time", "measure": "value", "guardrail_margin_percent": 5},
)
RATIO = a_goal(
    config={"event_name": "click", "measure": "ratio", "denominator": {"event_name": "view"}}, name="Clicks"
)


def measured(
    known: Sequence[int], visitors: Sequence[int] = (10_000, 10_000), *, goal: Any = PRIMARY
) -> Evidence:
    others = [[*visitors]] if goal is not PRIMARY and not goal.is_primary else []
    return observed(
        visitors, [[0] * len(visitors)] * (1 + len(others)), observed=np.array([*others, [*known]])
    )


def status_of(evidence: Evidence, goal: Any = PRIMARY) -> str:
    goals = (goal,) if goal.is_primary else (a_goal(), goal)
    experiment = an_experiment(goals=goals, weights=(1,) * len(evidence.visitors))
    return measured_visitors(check_input(experiment, evidence)).status


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ((6_000, 6_000), "ok"),
        ((6_000, 5_900), "ok"),  # z = -1.44
        ((6_000, 5_800), "warning"),  # z = -2.88
        ((6_000, 5_600), "alarm"),  # z = -5.76
        ((10_000, 9_000), "alarm"),
        ((10_000, 9_980), "not_applicable"),  # 10 missing expected of each
        ((10_000, 10_000), "not_applicable"),
    ],
)
def test_the_share_measured_is_held_against_chance(known: tuple[int, int], status: str) -> None:
    assert status_of(measured(known)) == status


def test_the_alarm_is_for_goals_that_decide() -> None:
    evidence = measured((6_000, 5_000), goal=SECONDARY)
    assert status_of(evidence, GUARDRAIL) == "alarm"
    absolute = {"event_name": "time", "measure": "value", "guardrail_margin_absolute": 5}
    assert status_of(evidence, replace(GUARDRAIL, config=absolute)) == "alarm"
    assert status_of(evidence, SECONDARY) == "warning"


def test_the_message_has_the_shares() -> None:
    found = measured_visitors(
        check_input(an_experiment(goals=(PRIMARY,), weights=(1, 1)), measured((6_000, 5_000)))
    )
    assert found.message.startswith(
        "Purchase is measured of 50% of the visitors of 'Treatment 1' and of 60% of those of 'Control'."
    )
    assert found.details["goals"] == [
        {
            "goal": "Purchase",
            "variant": "Treatment 1",
            "share": 0.5,
            "control_share": 0.6,
            "always_valid_p_value": pytest.approx(0.0, abs=1e-20),
        }
    ]


def test_a_ratio_warns_by_how_much_its_visitors_differ_and_never_alarms() -> None:
    evidence = observed([10_000] * 2, [0, 0], with_denominator=np.array([[6_000, 3_000]]))
    found = measured_visitors(check_input(an_experiment(goals=(RATIO,), weights=(1, 1)), evidence))
    assert found.status == "warning"
    assert "30% of the visitors of 'Treatment 1' and of 60% of those of 'Control' (\N{MINUS SIGN}50%)" in (
        found.message
    )


def test_sums_do_not_tell_the_visitors_of_a_ratio_and_this_is_said() -> None:
    found = measured_visitors(
        check_input(an_experiment(goals=(RATIO,), weights=(1, 1)), observed([10_000] * 2, [0, 0]))
    )
    assert found.status == "not_applicable"
    assert found.message.startswith("How many visitors have a denominator of Clicks is not known")


def test_weights_that_followed_a_change_of_the_share_are_no_difference() -> None:
    # All of the second period's visitors are too young to be known, and most of them are of the control.
    weights, visitors = [[1, 1], [9, 1]], [[5_000, 5_000], [9_000, 1_000]]
    known = np.array([[[5_000, 4_950]], [[900, 100]]])

    def of_epochs(observed_: Any) -> Evidence:
        evidence = observed_by_epoch(weights, visitors, [[0, 0], [0, 0]])
        assert evidence.epochs is not None
        object.__setattr__(evidence.epochs, "observed", observed_)
        object.__setattr__(evidence, "observed", observed_.sum(axis=0))
        return evidence

    experiment = an_experiment(goals=(PRIMARY,), weights=(9, 1))
    assert measured_visitors(check_input(experiment, of_epochs(known))).status != "alarm"
    known[0, 0, 1] = 3_000
    assert measured_visitors(check_input(experiment, of_epochs(known))).status == "alarm"


def test_a_mean_of_which_the_variant_loses_the_slow_half_is_not_shipped() -> None:
    rng = np.random.default_rng(1)
    seconds = rng.lognormal(3, 1, 6_000)
    is_variant = np.arange(6_000) >= 3_000
    lost = is_variant & (seconds > np.median(seconds))
    frame = pl.DataFrame(
        {"variant": np.where(is_variant, "B", "A"), "seconds": np.where(lost, np.nan, seconds)}
    )
    goals: Any = {"seconds": truelift.Mean(less_is_better=True)}
    report = truelift.analyze(frame, control="A", goals=goals)
    decision = _decision(report)
    assert (decision.recommendation, decision.reason) == ("review", "measured_differs")
    assert report.goals[0].variants[1].improvement == pytest.approx(-0.7, abs=0.03)
    assert "%" not in decision.headline
    assert report.due_look is None
    # The same visitors, all of them measured, are no different.
    whole = truelift.analyze(frame.with_columns(seconds=pl.Series(seconds)), control="A", goals=goals)
    assert _decision(whole).recommendation != "ship"


def test_false_alarms_over_daily_looks_are_rare() -> None:
    rng = np.random.default_rng(5)
    days = np.cumsum(rng.binomial(2_000, 0.6, (28, 60, 2)), axis=0)
    experiment = an_experiment(goals=(PRIMARY,), status="running", weights=(1, 1))
    found = {
        run
        for day, counts in enumerate(days, start=1)
        for run, known in enumerate(counts.tolist())
        if day % 7 == 0 and abs(known[0] - known[1]) > 3.3 * np.sqrt(2 * 2_000 * day * 0.24)
        for check in analyze(
            experiment, measured(known, (2_000 * day,) * 2), now=STARTED + timedelta(days=day)
        ).health
        if check.check == "measured_visitors" and check.status == "alarm"
    }
    assert not found


def _decision(report: Report) -> Any:
    assert report.primary is not None
    return report.primary.decision


def test_a_lost_half_is_found_whatever_the_day() -> None:
    experiment = an_experiment(goals=(PRIMARY,), status="running", weights=(1, 1))
    report = analyze(experiment, measured((2_000, 1_000), (2_000, 2_000)), now=NOW)
    assert _decision(report).reason == "measured_differs"
