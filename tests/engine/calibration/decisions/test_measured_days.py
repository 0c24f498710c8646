"""Simulated tests of measures: their sums by day, and decisions that are those of reports."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from engine.analysis.analyze import analyze
from engine.analysis.decision.rule import RULE
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.calibration.decisions.daily_decisions import decide_daily
from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.measure_cases import MEASURE_CASES
from engine.calibration.decisions.measured_days import simulate_measure
from engine.calibration.decisions.simulated_days import SimulatedDays
from engine.calibration.measure_errors.measure_cells import QuantileShape
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.frames.kinds import Quantile
from engine.stats.moments import Moments
from tests.builders import STARTED, an_experiment
from tests.examples import is_many, mostly_in_shares, trials

if TYPE_CHECKING:
    from engine.analysis.evidence.quantiles import QuantileEvidence
    from engine.analysis.evidence.recorded_looks import RecordedLook
    from engine.frames.frame_goal import FrameGoal

DAYS = 11
RUNS = trials(1, 4)
LIFTS = ((0.0, 0.0), (0.4, 0.0), (0.5, -0.4), (-0.4, 0.0))


def case_of(name: str, **changes: Any) -> DecisionCase:
    found = next(case for case in MEASURE_CASES if case.name.startswith(name))
    return replace(found, plan_day=9.0, minimum_effect=0.3, **changes)


CASES = {
    "count": case_of("count", guardrail=0.2),
    "ratio": case_of("ratio", guardrail=0.2, weights=(4.0, 1.0)),
    "CUPED": case_of("revenue, CUPED", weights=(3.0, 1.0)),
    "revenue per order": case_of("revenue per order", guardrail=0.2),
    "median": case_of("median", guardrail=0.2),
}


def simulated(case: DecisionCase, lifts: Any, *, runs: int, days: int = DAYS, seed: int = 3) -> SimulatedDays:
    lift = np.zeros((case.goals, len(case.weights)))
    lift[:, -1] = lifts[: case.goals]
    return simulate_measure(case, lift, days=days, runs=runs, rng=np.random.default_rng(seed))


def experiment_of(case: DecisionCase) -> Experiment:
    shape = case.values
    assert shape is not None
    kind: FrameGoal = Quantile("value", q=shape.shares[0]) if isinstance(shape, QuantileShape) else shape.goal
    goals = [kind.in_experiment(f"goal {place}", place) for place in range(case.goals)]
    margin = {"guardrail_margin_percent": (case.guardrail or 0) * 100}
    guards = [replace(goal, config={**goal.config, **margin}) for goal in goals[1:]]
    return an_experiment(
        weights=case.weights,
        status="running",
        goals=(goals[0], *guards),
        statistics=Statistics(minimum_effect_percent=case.minimum_effect * 100, cuped="CUPED" in case.name),
    )


def evidence_of(days: SimulatedDays, run: int, day: int) -> Evidence:
    goals, variants = days.conversions.shape[2:]
    visitors = days.visitors[day].astype(np.int64)
    quantiles: dict[int, QuantileEvidence] = {}
    if days.quantiles is not None:
        quantiles = dict(enumerate(days.quantiles[run][day]))
        values = VisitorValues.of(days.moments[run, day])
    else:
        assert days.sums is not None
        values = days.sums[run, day].values()
    nothing = np.zeros((goals, variants))
    return Evidence(
        visitors=visitors,
        conversions=days.conversions[run, day].astype(np.int64),
        revenue=Moments(np.broadcast_to(visitors, nothing.shape).astype(np.float64), nothing, nothing),
        daily=DailyEvidence.none(goals, variants),
        values=values,
        quantiles=quantiles,
    )


@pytest.mark.many(seconds=8)
@pytest.mark.parametrize("name", mostly_in_shares(CASES, "CUPED", "median", seconds=8))
def test_reports_day_by_day_give_the_actions_of_the_simulation(name: str) -> None:
    case = CASES[name]
    experiment = experiment_of(case)
    seen: Counter[int] = Counter()
    for seed, lifts in enumerate(LIFTS):
        # Where tests are short, every other effect, and the others in the next case.
        if not is_many() and seed % 2 != list(CASES).index(name) % 2:
            continue
        days = simulated(case, lifts, runs=RUNS, seed=seed)
        decided = decide_daily(days)
        for run in range(RUNS):
            looks: list[RecordedLook] = []
            for day in range(DAYS):
                evidence, now = evidence_of(days, run, day), STARTED + timedelta(days=day + 1)
                due = analyze(experiment, evidence, now=now, looks=looks).due_look
                assert due is not None
                row = RULE[int(decided.action[run, day])]
                assert (due.recommendation, due.reason) == (row.recommendation, row.reason), (lifts, run, day)
                assert due.is_at_plan == (day == decided.plan_day[run])
                looks.append(due)
                seen[int(decided.action[run, day])] += 1
    assert len(seen) >= trials(2, 3)


@pytest.mark.parametrize("name", ["count", "ratio", "CUPED", "revenue per order"])
def test_sums_since_the_first_day_are_those_of_all_visitors(name: str) -> None:
    case = replace(CASES[name], guardrail=None)
    days = simulated(case, (0.0, 0.0), runs=400)
    assert days.sums is not None
    assert (days.sums.value.n[:, :, 0] == days.visitors).all()
    assert (np.diff(days.conversions, axis=1) >= 0).all()
    last = days.moments[:, -1, 0, 0].sum_over(0)
    # Standard errors of some 400 times a hundred visitors and more.
    assert last.mean == pytest.approx(case.mean, rel=0.03)
    assert days.moments.variance[:, -1, 0].mean() == pytest.approx(case.variance, rel=0.1)


def test_values_of_quantiles_are_counted_since_the_first_day() -> None:
    case = replace(CASES["median"], guardrail=None)
    days = simulated(case, (0.5, 0.0), runs=40)
    assert days.quantiles is not None
    for run in days.quantiles:
        assert [[arm.n for arm in day[0].arms] for day in run] == days.visitors.tolist()
        for before, after in pairwise(run):
            assert set(before[0].arms[0].values) <= set(after[0].arms[0].values)
    medians = days.moments.mean[:, -1, 0].mean(axis=0)
    assert medians == pytest.approx([1.0, 1.5], rel=0.1)


def test_a_case_plans_by_the_moments_of_its_measure() -> None:
    # Negative binomial: variance 1.5 + 1.5² / 0.7. Median: its error is that of a share over the density.
    assert CASES["count"].mean == pytest.approx(1.5, rel=0.02)
    assert CASES["count"].variance == pytest.approx(1.5 + 1.5**2 / 0.7, rel=0.03)
    assert CASES["median"].mean == pytest.approx(1.0, rel=0.02)
    assert CASES["median"].variance == pytest.approx(0.25 * 2 * np.pi, rel=0.15)
