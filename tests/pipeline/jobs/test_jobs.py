import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from engine import local_days
from engine.design.experiment import Experiment
from pipeline.jobs import jobs
from pipeline.jobs.jobs import (
    checkpoint,
    forget_old_runs,
    rebuild_after_midnight,
    refresh_results,
    remove_left_import_files,
    start_queued_runs,
    write_snapshots,
)
from pipeline.services import PipelineServices
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.warehouse import published
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure
from tests.waiting import wait_until


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def a_services(store: WorkingStore, now: datetime = STARTED) -> PipelineServices:
    return replace(store, clock=lambda: now)


def damage(store: WorkingStore, experiment_id: str) -> None:
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'UPDATE "aggregates_{experiment_id}" SET visitors = 7')  # noqa: S608 (an id of our own)


def test_refreshing_goes_on_after_a_project_that_fails(
    store: WorkingStore, caplog: pytest.LogCaptureFixture
) -> None:
    broken, sound = (store.add_project() for _ in range(2))
    for project in (broken, sound):
        store.write(project, an_exposure(store.add_experiment(project)))
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'ALTER TABLE "events_{broken.id}" DROP COLUMN occurred_at')

    refresh_results(a_services(store))

    assert f"results of project {broken.id} could not be counted" in caplog.text
    assert str(store.rollup.refresh(sound.id)) == "up to date already"


def test_a_project_that_is_deleted_during_its_rollup_is_no_error(
    store: WorkingStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted, other = (store.add_project() for _ in range(2))
    for project in (deleted, other):
        store.write(project, an_exposure(store.add_experiment(project)))
    ids = {project.id for project in (deleted, other)}
    of_project = Experiments.of_project

    def delete_meanwhile(experiments: Experiments, project_id: str) -> list[Experiment]:
        found = of_project(experiments, project_id)
        if project_id == deleted.id and project_id in ids:
            ids.remove(project_id)
            store.catalog.projects.delete(deleted.account_id, project_id, actor="test")
            store.ingest.forget(project_id)
        return found

    monkeypatch.setattr(Experiments, "of_project", delete_meanwhile)
    refresh_results(a_services(store))
    assert ids == {other.id}
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert str(store.rollup.refresh(other.id)) == "up to date already"


def test_nightly_rollup_runs_once_after_each_zones_midnight(store: WorkingStore) -> None:
    project = store.add_project(reporting_timezone="America/New_York")
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    # Clocks go forward on the eighth: it begins at 05:00 UTC, and the ninth at 04:00 UTC.
    mended = {}
    for hour in ("07T12:00", "08T04:59", "08T05:01", "08T05:06", "09T03:59", "09T04:01"):
        damage(store, experiment.id)
        rebuild_after_midnight(a_services(store, datetime.fromisoformat(f"2026-03-{hour}+00:00")))
        mended[hour] = store.observe(experiment, project).visitors.tolist() == [1, 0]
    assert [hour for hour, is_mended in mended.items() if is_mended] == ["08T05:01", "09T04:01"]


def test_night_the_service_slept_through_is_made_up_for(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    services = a_services(store)
    rebuild_after_midnight(services)
    damage(store, experiment.id)

    rebuild_after_midnight(replace(services, clock=lambda: STARTED + timedelta(days=3)))

    assert store.observe(experiment, project).visitors.tolist() == [1, 0]


def test_nights_recorded_while_the_clock_was_ahead_come_again(
    store: WorkingStore, caplog: pytest.LogCaptureFixture
) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    for days in (0, 5, 0):
        rebuild_after_midnight(a_services(store, STARTED + timedelta(days=days)))
    assert "the clock was set back" in caplog.text
    damage(store, experiment.id)
    rebuild_after_midnight(a_services(store, STARTED + timedelta(days=1)))
    assert store.observe(experiment, project).visitors.tolist() == [1, 0]


def test_checkpoint_puts_the_log_away(store: WorkingStore) -> None:
    project = store.add_project()
    store.write(project, an_exposure(store.add_experiment(project)))
    log = store.warehouse.path.with_name(store.warehouse.path.name + ".wal")
    assert log.exists()

    checkpoint(a_services(store, datetime.now(UTC)))

    assert not log.exists() or log.stat().st_size == 0


def test_nights_and_snapshots_are_recorded_as_runs(store: WorkingStore) -> None:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    rebuild_after_midnight(a_services(store))
    damage(store, experiment.id)
    rebuild_after_midnight(a_services(store, STARTED + timedelta(days=1)))
    write_snapshots(a_services(store))
    runs = store.catalog.runs.page(project.id).items
    assert {(run.kind, run.trigger, run.status, run.drift) for run in runs} == {
        ("snapshot", "schedule", "done", ()),
        ("rebuild", "schedule", "drift", (experiment.id,)),
    }
    forget_old_runs(a_services(store, STARTED + timedelta(days=3650)))
    assert store.catalog.runs.page(project.id).total == 0


def test_files_of_imports_that_nothing_awaits_are_removed_after_a_day(store: WorkingStore) -> None:
    project = store.add_project()
    parameters = {"command_file": "import_queued"}
    run = Run(project_id=project.id, kind="import", trigger="api", parameters=parameters, created_at=STARTED)
    store.catalog.runs.add(run)
    settings = store.settings
    left = [
        settings.command_imports_path / name for name in ("import_queued", "import_a", "import_b.outcome")
    ]
    uploads = [settings.uploads_path / project.id / name for name in (f"{run.id}.csv", "upload_c.part")]
    for path in (*left, *uploads):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (STARTED.timestamp(), STARTED.timestamp()))
    remove_left_import_files(a_services(store, STARTED + timedelta(days=1)))
    assert [path.exists() for path in (*left, *uploads)] == [True] * 5
    for status in ("queued", "running"):
        store.catalog.runs.save(replace(run, status=status))
        remove_left_import_files(a_services(store, STARTED + timedelta(days=1, seconds=1)))
        assert [path.exists() for path in (*left, *uploads)] == [True, False, False, True, False]


def test_runs_that_are_still_queued_are_carried_out(store: WorkingStore) -> None:
    project = store.add_project()
    run = store.catalog.runs.add(Run(project_id=project.id, kind="rollup", trigger="api", created_at=STARTED))
    start_queued_runs(store)
    wait_until(lambda: store.catalog.runs.get(project.id, run.id).status == "done")


def test_a_time_zone_that_fails_hides_no_other(store: WorkingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for zone in ("Asia/Tokyo", "America/New_York"):
        store.add_project(reporting_timezone=zone)
    day, seen = local_days.local_day, list[str]()

    def local_day(at: datetime, zone: str) -> date:
        seen.append(zone)
        if len(seen) == 1:
            raise RuntimeError("a defect")
        return day(at, zone)

    monkeypatch.setattr(jobs, "local_day", local_day)
    with pytest.raises(ExceptionGroup, match="1 of 2 failed") as caught:
        rebuild_after_midnight(a_services(store))
    assert [error.__notes__ for error in caught.value.exceptions] == [[f"time zone {seen[0]}"]]
    with store.warehouse.transaction() as cursor:
        assert published.find_last_night(cursor, seen[1]) is not None
