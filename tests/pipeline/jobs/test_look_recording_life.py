"""Every day of an experiment, judged by the store and by the engine in memory: equal."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from engine.analysis.analyze import analyze
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.results.report import Report
from engine.design import lifecycle
from engine.design.analysis_settings import Statistics
from engine.design.project import Project
from tests.builders import STARTED
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays

# Needs about 660 visitors at a rate of 30%: eleven days of sixty.
LARGE_EFFECTS = Statistics(minimum_effect_percent=40)
GROUP_SEQUENTIAL = Statistics(planned_sample=600, sequential="group_sequential")
ALWAYS_VALID = Statistics(planned_sample=600, sequential="always_valid")
LAST_DAY = 22


@pytest.fixture
def project(service: RestartableService) -> Project:
    return service.store.add_project()


def judged(report: Report) -> tuple[Any, ...]:
    """What is said of an experiment: the action on every goal, and the plan."""
    decisions = [
        (one.decision.recommendation, one.decision.reason, one.decision.variant_name) for one in report.goals
    ]
    plan = report.plan
    facts = (plan.source, plan.is_reached, plan.reached_at, plan.required_visitors, plan.days_left)
    return decisions, facts, [variant.status for one in report.goals for variant in one.variants]


def recorded(looks: tuple[RecordedLook, ...]) -> list[tuple[Any, ...]]:
    """What was recorded, without the numbers that two ways of adding round differently."""
    return [
        (
            *(look.taken_at, look.is_at_plan, look.running_days, look.visitors),
            *(look.recommendation, look.reason, look.variant_id, look.plan.required_visitors),
            look.earlier_visitors,
            [
                (goal, variant, one.n, one.wins, one.loses, one.is_equivalent, one.is_broken)
                for goal, variants in look.comparisons.items()
                for variant, one in variants.items()
            ],
        )
        for look in looks
    ]


def days_of_a_life(service: RestartableService, project: Project, days: SimulatedDays) -> Iterator[None]:
    """Live through 22 days with a pause, restarts, an outage and late events, and yield each evening.

    Days 4 to 6 are a pause. On days 9 and 10 the service is down, and their events arrive on day 11. After
    the plan come conversions, and refunds, of visitors who were there before.
    """
    experiment = days.experiment
    for day in range(LAST_DAY):
        evening = STARTED + (day + 1) * DAY
        if day == 4:
            service.now = STARTED + day * DAY
            service.change(experiment, lifecycle.pause)
        if day == 7:
            service.now = STARTED + day * DAY
            service.change(experiment, lifecycle.resume)
        if day in {2, 12, 18}:
            service.restart()
        if day in {9, 10}:
            continue
        rows = []
        if day == 11:
            rows += [row for missed in (9, 10) for row in days.arrive(missed, received=evening)]
        if not 4 <= day < 7:
            rows += days.arrive(day)
        if day in {17, 19}:
            losers = days.among(day % 4 // 2, bought=False)[:40]
            rows += [days.buy(one, at=STARTED + 10 * DAY, received=evening) for one in losers]
            rows += [days.refund(one, at=evening) for one in days.among(1, bought=True)[day : day + 9]]
        service.run_at(evening, *rows, project=project)
        yield


@pytest.mark.parametrize(
    ("rates", "fields"),
    [
        pytest.param((0.30, 0.30), {}, id="no effect", marks=pytest.mark.long(seconds=6)),
        pytest.param((0.30, 0.43), {}, id="winner", marks=pytest.mark.long(seconds=6)),
        pytest.param((0.45, 0.28), {}, id="loser", marks=pytest.mark.long(seconds=6)),
        pytest.param(
            (0.30, 0.43),
            {"analysis_method": "bayesian"},
            id="bayesian",
            marks=pytest.mark.long(seconds=6),
        ),
        pytest.param(
            (0.30, 0.38),
            {"statistics": Statistics(planned_sample=600)},
            id="given",
            marks=pytest.mark.long(seconds=6),
        ),
        pytest.param(
            (0.30, 0.40),
            {"statistics": GROUP_SEQUENTIAL},
            id="group sequential",
            marks=pytest.mark.long(seconds=6),
        ),
        pytest.param(
            (0.30, 0.45), {"statistics": ALWAYS_VALID}, id="always valid", marks=pytest.mark.long(seconds=6)
        ),
    ],
)
def test_store_judges_every_day_as_the_engine_does_in_memory(
    service: RestartableService, project: Project, rates: tuple[float, float], fields: dict[str, Any]
) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, **{"statistics": LARGE_EFFECTS, **fields})
    days = SimulatedDays(experiment, rates)
    looks: tuple[RecordedLook, ...] = ()
    seen = []
    for _ in days_of_a_life(service, project, days):
        ask = partial(analyze, service.current(experiment), days.evidence(now=service.now), now=service.now)
        due = ask(looks=looks).due_look
        looks = (*looks, due) if due else looks
        # The job has recorded its look before this first read of the day.
        others = [look for look in looks if not look.is_at_plan]
        telling = tuple(look for look in looks if look.is_at_plan or look == others[-1])
        assert recorded(service.looks(experiment)) == recorded(telling)
        assert judged(service.report(experiment, project)) == judged(ask(looks=looks))
        seen.append(ask(looks=looks).plan.is_reached)
    assert len(seen) == LAST_DAY - 2
    assert seen.index(True) in range(7, 16)
    assert sum(look.is_at_plan for look in looks) == 1
