import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.rollup.nightly_check import NightlyCheck
from pipeline.rollup.run import Rollup
from pipeline.runs.command_imports import CommandImport, leave_import
from pipeline.runs.import_work import projects_with_imports
from pipeline.runs.uploads import Upload
from pipeline.store.warehouse import event_digests, nightly_counts
from pipeline.store.warehouse.events import stored_projects
from pipeline.store.warehouse.published import list_experiments
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path) as opened:
        yield opened


def counted(store: WorkingStore) -> tuple[Project, Experiment]:
    project = store.add_project()
    experiment = store.add_experiment(project)
    store.write(project, an_exposure(experiment))
    store.rollup.refresh(project.id)
    return project, experiment


def delete(store: WorkingStore, project: Project) -> None:
    store.catalog.projects.delete(project.account_id, project.id, actor="test")


def sweep(store: WorkingStore) -> None:
    remove_deleted_projects(store)


def stored(store: WorkingStore) -> tuple[list[str], list[str]]:
    return stored_projects(store.warehouse), list_experiments(store.warehouse)


def test_events_and_results_of_a_deleted_project_are_removed(store: WorkingStore) -> None:
    project, _ = counted(store)
    kept, kept_experiment = counted(store)
    delete(store, project)
    sweep(store)
    assert stored(store) == ([kept.id], [kept_experiment.id])
    assert store.ingest.last_seq_of(project.id) == 0


def test_events_that_were_on_their_way_are_removed_too(store: WorkingStore) -> None:
    project, experiment = counted(store)
    delete(store, project)
    sweep(store)
    store.write(project, an_exposure(experiment, visitor="late"))
    assert stored(store) == ([project.id], [])
    sweep(store)
    assert stored(store) == ([], [])


def test_events_that_wait_in_the_spool_are_removed_at_once(store: WorkingStore) -> None:
    project = store.add_project()
    asyncio.run(store.ingest.submit(project.id, [an_event("pageview")]))
    delete(store, project)
    sweep(store)
    assert store.ingest.load()
    assert stored(store) == ([], [])


def test_what_a_night_under_way_would_note_is_removed_too(
    store: WorkingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.add_project()
    store.write(project, an_event("pageview"))
    store.rollup.rebuild(project.id)
    waits_or_has_ended = Event()
    find, pause = NightlyCheck.find, Rollup.pause

    def pause_noted(rollup: Rollup) -> AbstractContextManager[None]:
        waits_or_has_ended.set()
        return pause(rollup)

    def find_and_delete(check: NightlyCheck, *args: Any, **options: Any) -> object:
        found = find(check, *args, **options)
        delete(store, project)
        monkeypatch.setattr(Rollup, "pause", pause_noted)
        threads.submit(sweep, store).add_done_callback(lambda _: waits_or_has_ended.set())
        assert waits_or_has_ended.wait(30)
        return found

    monkeypatch.setattr(NightlyCheck, "find", find_and_delete)
    with ThreadPoolExecutor(1) as threads:
        assert store.rollup.rebuild(project.id, at_night=True).is_checked
    assert stored(store) == ([], [])
    with store.warehouse.cursor() as cursor:
        assert not event_digests.read(cursor, project.id)
        assert nightly_counts.find(cursor, project.id) is None


def wait_for_imports(store: WorkingStore, project: Project) -> None:
    """Leave an uploaded file and an import of a command, of which no run has begun."""
    upload = Upload(store.settings, project.id)
    upload.write(b"a,b\n")
    upload.place(f"run_of_{project.id}", ".csv")
    upload.keep()
    upload.close()
    leave_import(store.settings, f"import_of_{project.id}", CommandImport(project_id=project.id))


def test_imports_that_wait_of_a_project_without_events_are_removed(store: WorkingStore) -> None:
    deleted, kept = store.add_project(), store.add_project()
    for project in (deleted, kept):
        wait_for_imports(store, project)
    assert stored(store) == ([], [])
    delete(store, deleted)
    sweep(store)
    assert projects_with_imports(store.settings) == {kept.id}
    assert [path.name for path in store.settings.uploads_path.iterdir()] == [kept.id]
    assert [path.name for path in store.settings.command_imports_path.iterdir()] == [f"import_of_{kept.id}"]


def test_sequence_numbers_go_on_after_a_removal(store: WorkingStore) -> None:
    project, _ = counted(store)
    delete(store, project)
    sweep(store)
    again, experiment = counted(store)
    assert store.ingest.last_seq_of(again.id) == 2
    assert store.observe(experiment, again).visitors.tolist() == [1, 0]


def test_what_the_catalog_merely_does_not_know_stays(store: WorkingStore) -> None:
    project, experiment = counted(store)
    with store.catalog.database.write() as connection:
        # Another catalog, or an older copy of it: nobody asked for a deletion.
        connection.exec_driver_sql("DELETE FROM projects")
    sweep(store)
    assert stored(store) == ([project.id], [experiment.id])


def test_nothing_is_removed_of_what_exists(store: WorkingStore) -> None:
    before = counted(store)
    sweep(store)
    assert stored(store) == ([before[0].id], [before[1].id])


def test_what_cannot_be_removed_now_keeps_nothing_else_and_is_removed_later(store: WorkingStore) -> None:
    (first, _), (second, _) = counted(store), counted(store)
    for project in (first, second):
        delete(store, project)
    # Another transaction is changing the table, so that it cannot be dropped now.
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'ALTER TABLE "events_{first.id}" ADD COLUMN other INTEGER')
        with pytest.raises(ExceptionGroup) as caught:
            sweep(store)
    assert [error.__notes__ for error in caught.value.exceptions] == [[f"project {first.id}"]]
    assert stored(store) == ([first.id], [])
    sweep(store)
    assert stored(store) == ([], [])
