"""Jobs that projects owe: once a period each, whenever the service starts and ends."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from engine.design.project import Project
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.jobs.jobs import (
    JOBS,
    forget_old_runs,
    move_bandit_weights,
    rebuild_after_midnight,
    remove_events_beyond_retention,
    write_snapshots,
)
from pipeline.jobs.scheduler import Scheduler
from pipeline.rollup.run import Rollup
from pipeline.store.catalog.runs.run_record import Kind
from pipeline.store.warehouse import published
from tests.builders import NOW, STARTED
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Calendar:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = STARTED

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def store(tmp_path: Path, calendar: Calendar) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path, clock=calendar) as opened:
        yield opened


def damage(store: WorkingStore, experiment_id: str) -> None:
    # What was read before is read again.
    with store.rollup.publications.replacing([experiment_id]), store.warehouse.transaction() as cursor:
        cursor.execute(f'UPDATE "aggregates_{experiment_id}" SET visitors = 7')  # noqa: S608 (an id of our own)


def break_events(store: WorkingStore, project: Project) -> None:
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'ALTER TABLE "events_{project.id}" RENAME COLUMN occurred_at TO lost')


def mend_events(store: WorkingStore, project: Project) -> None:
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'ALTER TABLE "events_{project.id}" RENAME COLUMN lost TO occurred_at')


def runs_of(store: WorkingStore, project: Project, kind: Kind) -> list[str]:
    return [one.status for one in store.catalog.runs.page(project.id, kind=kind, per_page=1000).items]


def nights_of(store: WorkingStore, experiment_id: str) -> list[int]:
    with store.warehouse.cursor() as cursor:
        return [day.day for day in published.list_kept(cursor, experiment_id)]


def test_a_project_is_recounted_once_after_each_midnight_of_its_zone(
    store: WorkingStore, calendar: Calendar
) -> None:
    calendar.now = datetime.fromisoformat("2026-03-07T09:00+00:00")
    project = store.add_project(reporting_timezone="America/New_York", created_at=calendar.now)
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    # Clocks go forward on the eighth: it begins at 05:00 UTC, and the ninth at 04:00 UTC.
    mended = {}
    for hour in ("07T12:00", "08T04:59", "08T05:01", "08T05:06", "09T03:59", "09T04:01"):
        damage(store, experiment.id)
        calendar.now = datetime.fromisoformat(f"2026-03-{hour}+00:00")
        rebuild_after_midnight(store)
        mended[hour] = store.observe(experiment, project).visitors.tolist() == [1, 0]
    assert [hour for hour, is_mended in mended.items() if is_mended] == ["08T05:01", "09T04:01"]


def test_nights_of_days_without_the_service_are_made_by_its_next_run(
    store: WorkingStore, calendar: Calendar
) -> None:
    project = store.add_project()
    ended, running = (store.add_experiment(project) for _ in range(2))
    store.write(project, an_exposure(running))
    store.change(ended, status="completed", completed_at=STARTED + HOUR)
    # Not even its first day's end was seen.
    calendar.now = STARTED + 5 * DAY + HOUR
    late = store.add_experiment(project, started_at=calendar.now)
    rebuild_after_midnight(store)
    rebuild_after_midnight(store)
    assert runs_of(store, project, "rebuild") == ["done"]
    assert nights_of(store, running.id) == [2, 3, 4, 5, 6]
    # Only those in which it was there, or had just ended.
    assert (nights_of(store, ended.id), nights_of(store, late.id)) == ([2, 3], [6])


def test_nights_made_while_the_clock_was_ahead_come_again(
    store: WorkingStore, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    for days in (5, 1, 2):
        calendar.now = STARTED + days * DAY
        rebuild_after_midnight(store)
    assert "the clock was set back" in caplog.text
    assert runs_of(store, project, "rebuild") == ["done"] * 3
    assert nights_of(store, experiment.id) == [2, 3]


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "ends the process"])
def test_a_project_that_fails_is_tried_again_alone_and_ever_later(
    store: WorkingStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    broken, *others = (store.add_project(reporting_timezone=zone) for zone in ("UTC", "UTC", "Asia/Tokyo"))
    for one in (broken, *others):
        store.write(one, an_exposure(store.add_experiment(one)))
    begun: list[datetime] = []
    rebuild = Rollup.rebuild

    def fail(rollup: Rollup, project_id: str, *arguments: None, at_night: bool) -> object:
        if project_id != broken.id:
            return rebuild(rollup, project_id, *arguments, at_night=at_night)
        begun.append(calendar.now)
        raise ValueError("a defect") if fails else SystemExit

    monkeypatch.setattr(Rollup, "rebuild", fail)
    calendar.now = midnight = datetime.fromisoformat("2026-03-02T00:01+00:00")
    scheduler = Scheduler(store)
    job = next(one for one in JOBS if one.name == "rebuild_after_midnight")
    while calendar.now < midnight + 4 * HOUR:
        try:
            scheduler.run_now(job)
            assert not fails or scheduler.failing == ["rebuild_after_midnight"]
        except SystemExit:
            assert not fails
        calendar.now += timedelta(minutes=1)
    waits = [5, 10, 20, 40, 60, 60]
    assert [(later - sooner) / timedelta(minutes=1) for sooner, later in pairwise(begun)] == waits
    assert [runs_of(store, one, "rebuild") for one in others] == [["done"], ["done"]]
    monkeypatch.undo()
    calendar.now += HOUR
    scheduler.run_now(job)
    assert scheduler.failing == []
    assert runs_of(store, broken, "rebuild")[0] == "done"


def test_what_is_due_does_not_depend_on_the_start_of_the_process(tmp_path: Path) -> None:
    calendar = Calendar()
    with a_working_store(tmp_path, clock=calendar) as store:
        project = store.add_project(settings={"retention_days": 1})
    removed = []
    # Never six hours, nor one, without a restart.
    for hours in range(0, 96, 8):
        calendar.now = STARTED + hours * HOUR
        with a_working_store(tmp_path, clock=calendar) as store:
            store.write(project, an_event("pageview", minute=60 * hours))
            for job in (write_snapshots, remove_events_beyond_retention, rebuild_after_midnight):
                job(store)
                job(store)
            with store.warehouse.cursor() as cursor:
                removed.append(len(cursor.execute(f'FROM "events_{project.id}"').fetchall()))
    with a_working_store(tmp_path, clock=calendar) as store:
        assert runs_of(store, project, "snapshot") == ["done"] * 12
        assert runs_of(store, project, "rebuild") == ["done"] * 4
    # A day's events, and those of the hours since the last midnight.
    assert max(removed) == 6
    assert [number for number, (before, after) in enumerate(pairwise(removed)) if after < before] == [
        4,
        7,
        10,
    ]


def test_jobs_are_noted_once_they_were_done(store: WorkingStore, calendar: Calendar) -> None:
    project = store.add_project(settings={"retention_days": 1})
    calendar.now = NOW + timedelta(minutes=5)
    jobs = (write_snapshots, move_bandit_weights, remove_events_beyond_retention, rebuild_after_midnight)
    for job in jobs:
        job(store)
    noted = {job.__name__: store.catalog.job_records.of(job.__name__)[project.id] for job in jobs}
    assert {name: (one.period, one.tries, one.tried_at) for name, one in noted.items()} == {
        "write_snapshots": ("2026-03-02T12:00:00+00:00", 0, None),
        "move_bandit_weights": ("2026-03-02T12:00:00+00:00", 0, None),
        "remove_events_beyond_retention": ("2026-03-02", 0, None),
        "rebuild_after_midnight": ("2026-03-02", 0, None),
    }


def test_a_snapshot_that_a_stop_interrupts_is_still_owed(
    store: WorkingStore,
) -> None:
    project = store.add_project()
    store.write(project, an_exposure(store.add_experiment(project)))
    store.snapshots.close()
    write_snapshots(store)
    assert store.catalog.job_records.of("write_snapshots")[project.id].period is None


def test_all_projects_owe_a_snapshot_at_noon_while_some_are_deleted_and_begun(
    store: WorkingStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    calendar.now = NOW.replace(hour=11, minute=59)
    first, second, third, kept = (store.add_project() for _ in range(4))
    experiment = store.add_experiment(third)
    store.write(third, an_exposure(experiment))
    store.rollup.refresh(third.id)
    write_snapshots(store)
    calendar.now = NOW.replace(hour=12)
    load, loads = store.snapshots._load_events, iter(range(9))  # noqa: SLF001 - a moment within the work

    def meanwhile(seconds: float | None) -> bool:
        """Delete two projects, that at hand among them, and an experiment of a third; begin another."""
        if next(loads) == 0:
            for one in (first, second):
                store.catalog.projects.delete(one.account_id, one.id, actor="test")
            store.catalog.experiments.delete(third.id, experiment.id, lambda _: None, actor="test")
            store.add_project()
        return load(seconds)

    monkeypatch.setattr(store.snapshots, "_load_events", meanwhile)
    assert not write_snapshots(store)
    periods = {key: one.period for key, one in store.catalog.job_records.of("write_snapshots").items()}
    assert periods == dict.fromkeys((third.id, kept.id), "2026-03-02T12:00:00+00:00")
    # The new one owes it since then.
    remove_deleted_projects(store)
    assert not write_snapshots(store)
    assert len(store.catalog.job_records.of("write_snapshots")) == 3


def test_nights_and_snapshots_are_recorded_as_runs(store: WorkingStore, calendar: Calendar) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    damage(store, experiment.id)
    calendar.now = STARTED + DAY
    rebuild_after_midnight(store)
    write_snapshots(store)
    runs = store.catalog.runs.page(project.id).items
    assert {(run.kind, run.trigger, run.status, run.drift) for run in runs} == {
        ("snapshot", "schedule", "done", ()),
        ("rebuild", "schedule", "drift", (experiment.id,)),
    }
    calendar.now = STARTED + 3650 * DAY
    forget_old_runs(store)
    assert store.catalog.runs.page(project.id).total == 0
