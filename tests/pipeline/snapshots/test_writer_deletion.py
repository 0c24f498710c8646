"""Deletion: what is deleted from the store is in no snapshot."""

import pytest

from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.jobs.jobs import write_snapshots
from pipeline.store.catalog.errors import NotFoundError
from tests.pipeline.snapshots.counted_projects import counted, folder_of
from tests.pipeline.working_store import WorkingStore


def test_a_deleted_projects_snapshot_goes_with_its_data(store: WorkingStore) -> None:
    project, _ = counted(store)
    kept, _ = counted(store)
    write_snapshots(store)
    store.catalog.projects.delete(project.account_id, project.id, actor="test")
    with pytest.raises(NotFoundError):
        store.snapshots.write(project.id)
    remove_deleted_projects(store)
    assert store.snapshots.stored_projects() == [kept.id]
    assert [path.name for path in store.snapshots.folder.iterdir()] == [kept.id]


def test_a_deleted_experiment_is_in_no_snapshot_any_more(store: WorkingStore) -> None:
    project, experiment = counted(store, status="completed")
    store.snapshots.write(project.id)
    store.catalog.experiments.delete(project.id, experiment.id, lambda _: None, actor="test")
    assert store.snapshots.write(project.id).experiments == ()
    store.snapshots.write(project.id)
    assert not (folder_of(store, project) / "experiments").exists()
