"""Failures and damage of snapshots: the one before stays, and what is broken is written again."""

import pytest

from pipeline.jobs.jobs import write_snapshots
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.snapshots.counted_projects import counted, folder_of
from tests.pipeline.snapshots_at_hand import (
    assert_whole,
    files_in,
    named_in,
    without_digests,
)
from tests.pipeline.working_store import WorkingStore, an_exposure


def test_a_full_disk_leaves_the_snapshot_before_and_nothing_else(store: WorkingStore) -> None:
    project, experiment = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    before, manifest = files_in(folder), (folder / "manifest.json").read_bytes()
    store.write(
        project,
        *(an_exposure(experiment, 0, f"{number}-{number**9}", url="u" * number) for number in range(2000)),
    )
    with store.warehouse.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    with no_file_larger_than(10_000), pytest.raises(Exception, match="the disk is full"):
        store.snapshots.write(project.id)
    assert (files_in(folder), (folder / "manifest.json").read_bytes()) == (before, manifest)
    store.snapshots.write(project.id)
    assert assert_whole(folder)["last_seq"] == 2004


def test_what_a_killed_process_left_is_removed(store: WorkingStore) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    for name in (
        "events/000000000000005-000000000000009.parquet",
        "manifest.json.part",
        "experiments/exp_x/a.part",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    store.snapshots.write(project.id)
    assert files_in(folder) == named_in(folder)


@pytest.mark.parametrize("damage", ["{", '{"schema_version": 99}', "[]", ""])
def test_a_manifest_that_cannot_be_read_is_replaced(store: WorkingStore, damage: str) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    (folder / "manifest.json").write_text(damage)
    store.snapshots.write(project.id)
    assert_whole(folder)


def test_a_file_that_was_damaged_is_written_again(store: WorkingStore) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    path = store.snapshots.write(project.id).events[0].path
    (folder / path).write_bytes(b"PAR1")
    store.snapshots.write(project.id)
    assert_whole(folder)


def test_a_byte_that_was_changed_is_found_by_its_digest_and_written_again(
    store: WorkingStore, caplog: pytest.LogCaptureFixture
) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    path = folder / store.snapshots.write(project.id).events[0].path
    written = path.read_bytes()
    path.write_bytes(written[:100] + bytes([written[100] ^ 1]) + written[101:])
    store.snapshots.write(project.id)
    assert f"{path} is damaged" in caplog.text
    assert_whole(folder)


def test_files_of_a_snapshot_without_digests_get_them_with_the_next_one(store: WorkingStore) -> None:
    project, _ = counted(store)
    folder = folder_of(store, project)
    store.snapshots.write(project.id)
    without_digests(folder)
    store.snapshots.write(project.id)
    assert_whole(folder)


def test_one_project_that_fails_keeps_no_other_waiting(store: WorkingStore) -> None:
    (broken, _), (sound, _) = counted(store), counted(store)
    with store.warehouse.transaction() as cursor:
        cursor.execute(f'ALTER TABLE "events_{broken.id}" DROP COLUMN occurred_at')
    with pytest.raises(ExceptionGroup) as caught:
        write_snapshots(store)
    assert [error.__notes__ for error in caught.value.exceptions] == [[f"project {broken.id}"]]
    assert_whole(folder_of(store, sound))
    assert files_in(folder_of(store, broken)) == set()


def test_a_service_that_stops_gives_its_snapshot_up(store: WorkingStore) -> None:
    project, _ = counted(store)
    store.snapshots.close()
    write_snapshots(store)
    assert files_in(folder_of(store, project)) == set()
