"""Backups are consistent while the store is in use, and never look whole before they are."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.backup.restoring import restore_backup
from pipeline.backup.writing import write_backup
from pipeline.backup_manifest import MANIFEST, UNFINISHED, BackupError, read_manifest
from pipeline.disk_space import DiskFullError
from pipeline.inspection import inspect_store
from pipeline.store.ownership.store_lock import locked_store
from tests.builders import NOW
from tests.pipeline.backup.stores import all_results, fill, random_events, results_in, seqs_of, settings_of
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.working_store import WorkingStore, a_working_store

KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.backup import writing
from pipeline.services import open_pipeline
from pipeline.settings import Settings

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

# In the middle: the databases are copied, and other files are not.
writing._copy_files = kill
with open_pipeline(Settings(data_dir=Path(sys.argv[1]), catalog_url=None)) as store:
    writing.write_backup(store, Path(sys.argv[2]), with_snapshots=False)
"""


def test_a_restored_store_gives_every_answer_of_the_one_that_was_backed_up(
    store: WorkingStore, tmp_path: Path
) -> None:
    made = fill(store)
    before = all_results(store)
    assert len(before) == 4
    manifest = write_backup(store, tmp_path / "backup", with_snapshots=False)
    for project, experiment in made:
        store.write(project, *random_events(experiment, 99))
        store.rollup.refresh(project.id)
    assert all_results(store) != before
    restore_backup(tmp_path / "backup", settings_of(tmp_path / "restored"))
    assert results_in(tmp_path / "restored") == before
    assert manifest == read_manifest(tmp_path / "backup")
    assert (manifest.taken_at, (tmp_path / "backup" / UNFINISHED).exists()) == (NOW, False)


@pytest.mark.long(seconds=3)
def test_a_backup_under_traffic_has_all_events_up_to_one_number(store: WorkingStore, tmp_path: Path) -> None:
    (project, experiment), *_ = fill(store)
    acknowledged = seqs_of(store, project)
    is_done, is_writing = threading.Event(), threading.Event()

    def write_on() -> None:
        seed = 100
        while not is_done.is_set():
            store.write(project, *random_events(experiment, seed, visitors=5))
            store.rollup.refresh(project.id)
            is_writing.set()
            seed += 1

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        assert is_writing.wait(60)
        manifest = write_backup(store, tmp_path / "backup", with_snapshots=False)
    finally:
        is_done.set()
        writer.join()
    restored = settings_of(tmp_path / "restored")
    restore_backup(tmp_path / "backup", restored)
    with locked_store(restored):
        assert inspect_store(restored) == []
    with a_working_store(tmp_path / "restored", catalog_url=None) as copy:
        found = seqs_of(copy, project)
        assert set(acknowledged) < set(found)
        assert found == [seq for seq in seqs_of(store, project) if seq <= manifest.last_seq]
        assert copy.rollup.rebuild(project.id).drifted == ()


def test_snapshots_are_copied_on_demand(store: WorkingStore, tmp_path: Path) -> None:
    (project, _), *_ = fill(store)
    store.snapshots.write(project.id)
    write_backup(store, tmp_path / "without", with_snapshots=False)
    write_backup(store, tmp_path / "with", with_snapshots=True)
    files = {name: read_manifest(tmp_path / name).files for name in ("without", "with")}
    assert [file for file in files["without"] if file.path.startswith("snapshots/")] == []
    restored = settings_of(tmp_path / "restored")
    restore_backup(tmp_path / "with", restored)
    assert (restored.snapshots_path / project.id / "manifest.json").is_file()


def test_a_folder_that_is_in_use_is_refused_and_stays(store: WorkingStore, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    write_backup(store, folder, with_snapshots=False)
    before = (folder / MANIFEST).read_bytes()
    with pytest.raises(BackupError, match="holds something already"):
        write_backup(store, folder, with_snapshots=False)
    assert (folder / MANIFEST).read_bytes() == before
    with pytest.raises(BackupError, match="in the data folder"):
        write_backup(store, store.settings.data_dir / "backup", with_snapshots=False)


def test_a_full_disk_says_so_leaves_nothing_and_does_not_disturb_the_store(
    store: WorkingStore, tmp_path: Path
) -> None:
    (project, experiment), *_ = fill(store)
    with no_file_larger_than(200_000), pytest.raises(DiskFullError, match="disk is full"):
        write_backup(store, tmp_path / "backup", with_snapshots=False)
    assert list((tmp_path / "backup").iterdir()) == []
    store.write(project, *random_events(experiment, 99))
    write_backup(store, tmp_path / "backup", with_snapshots=False)
    before = all_results(store)
    restore_backup(tmp_path / "backup", settings_of(tmp_path / "restored"))
    assert results_in(tmp_path / "restored") == before


@pytest.mark.only_on("sqlite")
def test_a_killed_backup_is_refused(tmp_path: Path) -> None:
    with a_working_store(tmp_path / "store") as store:
        fill(store)
    folder = tmp_path / "backup"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "store"), str(folder)]
    assert subprocess.run(command, check=False).returncode == -9
    assert (folder / "warehouse.duckdb").is_file()
    with pytest.raises(BackupError, match="it was not finished"):
        restore_backup(folder, settings_of(tmp_path / "restored"))
    assert not (tmp_path / "restored").exists()
    with a_working_store(tmp_path / "store") as store, pytest.raises(BackupError, match="unfinished backup"):
        write_backup(store, folder, with_snapshots=False)
