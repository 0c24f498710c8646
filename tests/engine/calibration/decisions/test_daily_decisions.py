"""Simulated decisions are those of reports, look by look and day by day."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.automation.early_stopping import early_winner
from engine.analysis.decision.rule import RULE
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.calibration.decisions.daily_decisions import SHIP, decide_daily
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays, simulate_days
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.stats.moments import Moments
from tests.builders import STARTED, a_goal, an_experiment
from tests.examples import is_many, mostly_in_shares, trials

if TYPE_CHECKING:
    from engine.analysis.evidence.recorded_looks import RecordedLook

DAYS = 14
RUNS = trials(6, 24)
# Effects on the primary goal, the guardrail and a secondary goal of the last variant, run by run.
EFFECTS = (
    (0.0, 0.0, 0.0),
    (0.15, 0.0, 0.0),
    (0.3, -0.05, 0.0),
    (0.2, -0.3, 0.0),
    (0.25, 0.0, -0.3),
    (-0.25, 0.0, 0.1),
)


def experiment_of(case: DecisionCase) -> Experiment:
    statistics: dict[str, Any] = {"sequential": case.sequential}
    if case.method == "one-sided":
        statistics["alternative"] = "one_sided"
    if case.is_given:
        statistics["planned_sample"] = case.planned
    statistics["minimum_effect_percent"] = case.relevant_effect * 100
    kind = {"goal_type": "revenue"} if case.orders else {}
    goals = [a_goal(**kind)]
    if case.non_inferior:
        statistics["guardrails"] = "non_inferior"
    for index in range(0 if case.guardrail is None else case.guardrails):
        config = {"event_name": f"guarded_{index}", "guardrail_margin_percent": (case.guardrail or 0) * 100}
        guarded = {"id": f"goal_{index + 2}", "name": f"Guarded {index}", "is_primary": False}
        goals.append(a_goal(config=config, **guarded, **kind))
    for index in range(case.secondary):
        extra = {"id": f"goal_{index + 9}", "name": f"Extra {index}", "is_primary": False}
        goals.append(a_goal(config={"event_name": f"extra_{index}"}, **extra, **kind))
    return an_experiment(
        weights=case.weights,
        status="running",
        goals=tuple(goals),
        statistics=Statistics(**statistics),
        analysis_method="bayesian" if case.method == "Bayesian" else "frequentist",
    )


def evidence_of(days: SimulatedDays, run: int, day: int) -> Evidence:
    goals, variants = days.conversions.shape[2:]
    visitors = days.visitors[day].astype(np.int64)
    n = np.broadcast_to(visitors, (goals, variants)).astype(np.float64)
    revenue = days.moments[run, day] if days.case.orders else Moments(n, np.zeros(n.shape), np.zeros(n.shape))
    return Evidence(
        visitors=visitors,
        conversions=days.conversions[run, day].astype(np.int64),
        revenue=revenue,
        daily=DailyEvidence.none(goals, variants),
    )


CASES = {
    "conversions": DecisionCase(rate=0.05, plan_day=9.0, guardrail=0.05, secondary=1, minimum_effect=0.2),
    "guardrails to be shown": DecisionCase(
        rate=0.3, plan_day=9.0, guardrail=0.08, guardrails=2, minimum_effect=0.1, non_inferior=True
    ),
    "three variants": DecisionCase(
        rate=0.05,
        plan_day=9.0,
        guardrail=0.05,
        secondary=2,
        minimum_effect=0.2,
        weights=(2.0, 1.0, 1.0),
    ),
    "few conversions": DecisionCase(
        rate=0.005, plan_day=8.0, guardrail=0.05, minimum_effect=1.0, weights=(4.0, 1.0)
    ),
    "revenue": DecisionCase(
        rate=0.05,
        plan_day=9.0,
        guardrail=0.05,
        secondary=1,
        minimum_effect=0.4,
        orders="lognormal",
        weights=(4.0, 1.0),
    ),
    "revenue of three variants": DecisionCase(
        rate=0.1, plan_day=9.0, minimum_effect=0.4, orders="lognormal", weights=(1.0, 1.0, 1.0)
    ),
    "planned": DecisionCase(rate=0.05, plan_day=9.0, minimum_effect=0.2, method="planned"),
    "always valid": DecisionCase(rate=0.05, plan_day=9.0, minimum_effect=0.2, method="always valid"),
    "group sequential": DecisionCase(rate=0.05, plan_day=9.0, minimum_effect=0.2, method="group sequential"),
    "group sequential, complete early": DecisionCase(
        rate=0.05, plan_day=4.0, minimum_effect=0.2, method="group sequential"
    ),
    "one-sided": DecisionCase(
        rate=0.05, plan_day=9.0, minimum_effect=0.2, method="one-sided", guardrail=0.05
    ),
    "Bayesian": DecisionCase(rate=0.05, plan_day=9.0, minimum_effect=0.2, method="Bayesian"),
}


@pytest.mark.many(seconds=8)
@pytest.mark.parametrize(
    "name",
    mostly_in_shares(
        CASES,
        "guardrails to be shown",
        "revenue of three variants",
        "group sequential",
        "Bayesian",
        seconds=8,
    ),
)
def test_reports_day_by_day_give_the_actions_of_the_simulation(name: str) -> None:
    case = CASES[name]
    experiment, rng = experiment_of(case), np.random.default_rng(17)
    seen: Counter[int] = Counter()
    # Where tests are short, every other effect, and the others in the next case.
    for effects in EFFECTS if is_many() else EFFECTS[list(CASES).index(name) % 2 :: 2]:
        lifts = np.zeros((case.goals, len(case.weights)))
        lifts[: min(case.goals, 3), -1] = effects[: min(case.goals, 3)]
        days = simulate_days(case, lifts, days=DAYS, runs=RUNS // len(EFFECTS), rng=rng)
        decided = decide_daily(days)
        for run in range(len(days.conversions)):
            looks: list[RecordedLook] = []
            for day in range(DAYS):
                evidence, now = evidence_of(days, run, day), STARTED + timedelta(days=day + 1)
                due = analyze(experiment, evidence, now=now, looks=looks).due_look
                assert due is not None
                row = RULE[int(decided.action[run, day])]
                assert (due.recommendation, due.reason) == (row.recommendation, row.reason), (
                    effects,
                    run,
                    day,
                )
                assert due.is_at_plan == (day == decided.plan_day[run])
                looks.append(due)
                seen[int(decided.action[run, day])] += 1
    assert len(seen) >= trials(2, 4)


def test_auto_stop_of_the_simulation_is_that_of_the_service() -> None:
    case = CASES["conversions"]
    experiment, rng = experiment_of(case), np.random.default_rng(18)
    days = simulate_days(case, np.array([[0.0, 0.3], [0.0, 0.0], [0.0, 0.0]]), days=DAYS, runs=6, rng=rng)
    decided = decide_daily(days)
    stops = (decided.action == SHIP) & decided.holds_at_every_look()
    assert 0 < stops.sum() < stops.size
    for run in range(len(stops)):
        looks: list[RecordedLook] = []
        for day in range(DAYS):
            evidence, now = evidence_of(days, run, day), STARTED + timedelta(days=day + 1)
            winner = early_winner(experiment, evidence, now=now, looks=looks)
            assert (winner is not None) == stops[run, day]
            due = analyze(experiment, evidence, now=now, looks=looks).due_look
            assert due is not None
            looks.append(due)
