"""Recorded looks through a real store: late events, outages, completion and several readers at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier
from typing import Any

import pytest

from engine.analysis.evidence.recorded_looks import RecordedLook, plan_look
from engine.analysis.results.report import Report
from engine.design import lifecycle
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment, StopConditions
from engine.design.project import Project
from pipeline.jobs.jobs import JOBS
from pipeline.results import due_looks
from pipeline.results.filters import SegmentFilters
from pipeline.results.recorded_analysis import analyze_and_record
from pipeline.store.warehouse.visitors import result_table
from tests.builders import STARTED
from tests.pipeline.restartable_service import RECORD_LOOKS, RestartableService
from tests.pipeline.simulated_days import DAY, GOALS, SimulatedDays

STOP_AT_WINNERS = next(job for job in JOBS if job.name == "complete_with_a_winner")
# Needs about 660 visitors at a rate of 30%: eleven days of sixty.
LARGE_EFFECTS = Statistics(minimum_effect_percent=40)


@pytest.fixture
def project(service: RestartableService) -> Project:
    return service.store.add_project()


def action(report: Report) -> tuple[str, str | None]:
    assert report.primary is not None
    return report.primary.decision.recommendation, report.primary.decision.reason


@pytest.mark.long(seconds=7)
def test_look_at_the_plan_is_recorded_unread_and_outlives_late_events(
    service: RestartableService, project: Project
) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.38), seed=4)
    looks: list[RecordedLook] = []
    for day in range(12):
        service.run_at(STARTED + (day + 1) * DAY, *days.arrive(day), project=project)
        looks += service.looks(experiment)[-1:]
    at_plan = plan_look(tuple(looks))
    assert at_plan is not None
    assert (at_plan.recommendation, at_plan.variant_id) == ("ship", "var_1")
    # By the one look alone: none of the others shows it.
    assert len(looks) == 12
    assert [look for look in looks if look.comparisons["bought"]["var_1"].wins] == [at_plan]

    # Late conversions of the control undo the difference.
    later = STARTED + 15 * DAY
    late = [days.buy(one, at=STARTED + 11 * DAY, received=later) for one in days.among(0, bought=False)[:40]]
    service.run_at(later, *late, project=project)

    report = service.report(experiment, project)
    assert report.primary is not None
    control, treatment = report.primary.variants
    assert control.conversions > treatment.conversions
    assert treatment.status == "inconclusive"
    assert action(report) == ("ship", None)
    assert plan_look(service.looks(experiment)) == at_plan
    assert report.plan.reached_at == at_plan.taken_at


def test_days_without_the_service_give_one_look(service: RestartableService, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.30))
    service.run_at(STARTED + DAY, *days.arrive(0), project=project)
    service.restart()
    service.run_at(
        STARTED + 9.5 * DAY, *(row for day in range(1, 9) for row in days.arrive(day)), project=project
    )
    (look,) = service.looks(experiment)
    assert (look.running_days, look.earlier_visitors) == (9.5, (60,))


def test_readers_and_the_job_at_once_record_one_look_at_the_plan(
    service: RestartableService, project: Project
) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.42), seed=4)
    service.now = STARTED + 12 * DAY
    service.store.write(project, *(row for day in range(12) for row in days.arrive(day)))
    service.store.rollup.refresh(project.id)
    together = Barrier(4)

    def read(reader: int) -> Report | None:
        together.wait()
        if reader == 0:
            RECORD_LOOKS.run(service.store)
            return None
        return service.report(experiment, project)

    with ThreadPoolExecutor(4) as threads:
        reports = [report for report in threads.map(read, range(4)) if report]
    (look,) = service.looks(experiment)
    assert look.is_at_plan
    assert len(reports) == 3
    for report in reports:
        assert report.plan.reached_at == look.taken_at
        assert action(report) == (look.recommendation, look.reason)


@pytest.mark.long(seconds=4)
def test_experiment_ended_by_hand_before_its_plan_is_a_hint(
    service: RestartableService, project: Project
) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.42), seed=4)
    for day in range(5):
        service.run_at(STARTED + (day + 1) * DAY, *days.arrive(day), project=project)
    service.change(experiment, lifecycle.complete)
    service.run_at(STARTED + 90 * DAY, project=project)
    report = service.report(experiment, project)
    assert report.primary is not None
    assert (report.primary.decision.recommendation, report.primary.decision.reason) == (
        "review",
        "ended_early",
    )
    assert not report.plan.is_reached
    assert plan_look(service.looks(experiment)) is None


def test_plan_reached_at_completion_is_judged_once_afterwards(
    service: RestartableService, project: Project
) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.30, 0.42), seed=4)
    service.now = STARTED + 12 * DAY
    service.store.write(project, *(row for day in range(12) for row in days.arrive(day)))
    service.change(experiment, lifecycle.complete)
    for later in (13, 14, 90):
        service.run_at(STARTED + later * DAY, project=project)
    (look,) = service.looks(experiment)
    assert (look.is_at_plan, look.running_days, look.taken_at) == (True, 12.0, STARTED + 13 * DAY)
    assert action(service.report(experiment, project)) == ("ship", None)


@pytest.mark.parametrize(("rates", "is_stopped"), [((0.30, 0.40), False), ((0.30, 0.60), True)])
def test_bayesian_auto_stop_follows_the_sequence_and_records_its_look(
    service: RestartableService, project: Project, rates: tuple[float, float], *, is_stopped: bool
) -> None:
    experiment = service.store.add_experiment(
        project,
        goals=GOALS,
        analysis_method="bayesian",
        stop_conditions=StopConditions(auto_stop_on_winner=True),
    )
    days = SimulatedDays(experiment, rates, seed=4)
    service.now = STARTED + 8 * DAY
    service.store.write(project, *(row for day in range(8) for row in days.arrive(day)))
    STOP_AT_WINNERS.run(service.store)
    assert service.current(experiment).status == ("completed" if is_stopped else "running")
    assert [look.recommendation for look in service.looks(experiment)] == ["ship"] * is_stopped
    report = service.report(experiment, project)
    assert report.primary is not None
    # The chance alone is beyond the threshold in both.
    assert report.primary.variants[1].status == "winner"
    assert action(report)[0] == ("ship" if is_stopped else "keep_running")


def test_segment_is_exploratory_and_records_nothing(service: RestartableService, project: Project) -> None:
    experiment = service.store.add_experiment(project, goals=GOALS, statistics=LARGE_EFFECTS)
    days = SimulatedDays(experiment, (0.20, 0.60))
    service.now = STARTED + 12 * DAY
    rows = (row._replace(country="US") for day in range(12) for row in days.arrive(day))
    service.store.write(project, *rows)
    filters = SegmentFilters({"country": "US"})
    report = service.store.results.report(experiment, project, filters, now=service.now)
    assert report.primary is not None
    assert report.primary.variants[1].status == "winner"
    assert (report.primary.decision.recommendation, report.primary.decision.reason) == (
        "review",
        "exploratory",
    )
    assert service.looks(experiment) == ()
    assert action(service.report(experiment, project)) == ("ship", None)


def test_experiment_that_fails_hides_no_other(service: RestartableService, project: Project) -> None:
    broken, sound = (service.store.add_experiment(project, goals=GOALS) for _ in range(2))
    for experiment in (broken, sound):
        service.store.write(project, *SimulatedDays(experiment, (0.3, 0.3)).arrive(0))
    service.now = STARTED + DAY
    service.store.rollup.refresh(project.id)
    with service.store.warehouse.transaction() as cursor:
        cursor.execute(f"DROP TABLE {result_table('aggregates', broken.id)}")
    with pytest.raises(ExceptionGroup) as failed:
        RECORD_LOOKS.run(service.store)
    assert [one.__notes__ for one in failed.value.exceptions] == [[f"experiment {broken.id}"]]
    assert len(service.looks(sound)) == 1


def test_experiment_is_analyzed_only_after_something_changed(
    service: RestartableService, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzed: list[datetime] = []
    experiment = service.store.add_experiment(project, goals=GOALS)

    def count(one: Experiment, *arguments: Any, now: datetime, **others: Any) -> Report:
        # Services of other tests may work in this process.
        if one.id == experiment.id:
            analyzed.append(now)
        return analyze_and_record(one, *arguments, now=now, **others)

    monkeypatch.setattr(due_looks, "analyze_and_record", count)
    days = SimulatedDays(experiment, (0.3, 0.3))
    times = [STARTED + hours * DAY / 24 for hours in (24, 25, 26, 47, 48, 49, 72)]
    service.run_at(times[0], *days.arrive(0), project=project)
    service.run_at(times[1], project=project)
    service.run_at(times[2], *days.arrive(1), project=project)
    for time in times[3:]:
        service.run_at(time, project=project)
    assert analyzed == [times[0], times[2], times[4], times[6]]
    (look,) = service.looks(experiment)
    assert (look.running_days, look.earlier_visitors) == (3.0, (60, 120))
