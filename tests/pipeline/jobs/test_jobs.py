import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.design.experiment import Experiment
from pipeline.jobs.jobs import (
    checkpoint,
    refresh_results,
    remove_left_import_files,
    start_queued_runs,
    verify_catalog,
)
from pipeline.services import PipelineServices
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.ownership.damage import DamagedStoreError
from tests.builders import STARTED
from tests.pipeline.working_store import WorkingStore, a_working_store, an_exposure
from tests.waiting import wait_until


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def a_services(store: WorkingStore, now: datetime = STARTED) -> PipelineServices:
    return replace(store, clock=lambda: now)


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
    with_ids = Experiments.with_ids

    def delete_meanwhile(
        experiments: Experiments, project_id: str, experiment_ids: Collection[str], **kinds: bool
    ) -> list[Experiment]:
        found = with_ids(experiments, project_id, experiment_ids, **kinds)
        if project_id == deleted.id and project_id in ids:
            ids.remove(project_id)
            store.catalog.projects.delete(deleted.account_id, project_id, actor="test")
            store.ingest.forget(project_id)
        return found

    monkeypatch.setattr(Experiments, "with_ids", delete_meanwhile)
    refresh_results(a_services(store))
    assert ids == {other.id}
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert str(store.rollup.refresh(other.id)) == "up to date already"


def test_checkpoint_puts_the_log_away(store: WorkingStore) -> None:
    project = store.add_project()
    store.write(project, an_exposure(store.add_experiment(project)))
    log = store.warehouse.path.with_name(store.warehouse.path.name + ".wal")
    assert log.exists()

    checkpoint(a_services(store, datetime.now(UTC)))

    assert not log.exists() or log.stat().st_size == 0


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


@pytest.mark.only_on("sqlite")
def test_a_catalog_that_is_damaged_while_it_is_open_is_found(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as opened:
        opened.add_project()
        verify_catalog(opened)
        opened.catalog.database.empty_log()
        path = tmp_path / "catalog.sqlite3"
        content = bytearray(path.read_bytes())
        with opened.catalog.database.read() as connection:
            query = "SELECT rootpage FROM sqlite_master WHERE name = 'audit'"
            page = connection.exec_driver_sql(query).scalar_one()
        content[(page - 1) * 4096] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(DamagedStoreError, match=r"catalog\.sqlite3 is damaged"):
            verify_catalog(opened)


@pytest.mark.only_on("sqlite")
def test_another_process_leaves_the_log_of_a_catalog_that_was_verified(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as closed:
        project = closed.add_project()
    with a_working_store(tmp_path) as opened:
        opened.catalog.database.empty_log()
        verify_catalog(opened)
        # As a process that closes the last connection does, SQLite would remove the log.
        count = "import sqlite3; c = sqlite3.connect('catalog.sqlite3'); c.execute('DELETE FROM job_records')"
        subprocess.run([sys.executable, "-c", f"{count}; c.commit(); c.close()"], cwd=tmp_path, check=True)
        opened.catalog.job_records.note_done("job", project.id, "today")
        with closing(sqlite3.connect(tmp_path / "catalog.sqlite3")) as another:
            assert another.execute("SELECT period FROM job_records").fetchall() == [("today",)]
