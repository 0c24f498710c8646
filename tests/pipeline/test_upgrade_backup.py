"""The copy of a store of an earlier version that is made before its migration, and the way back by it."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.backup.restoring import restore_backup
from pipeline.backup_manifest import MANIFEST, read_manifest, require_intact
from pipeline.disk_space import DiskFullError
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.migrate import HEAD
from pipeline.upgrade_backup import FOLDER, back_up_before_migration
from tests import old_store
from tests.pipeline.full_disk import no_file_larger_than
from tests.resilience.store_parts import parts_of

NOW = datetime(2026, 11, 26, tzinfo=UTC)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The folder of a store that version 0.1 wrote."""
    return old_store.unpack(tmp_path)


def revision(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "catalog.sqlite3")) as catalog:
        return str(catalog.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def digests(folder: Path) -> dict[str, str]:
    """The content of every file of the databases."""
    found = [*sorted(folder.glob("warehouse.duckdb*")), folder / "catalog.sqlite3"]
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in found if path.suffix != ".lock"}


def test_a_store_of_an_earlier_version_is_copied_before_it_is_migrated(data_dir: Path) -> None:
    before, then = revision(data_dir), digests(data_dir)
    assert before < HEAD
    with open_pipeline(Settings(data_dir=data_dir, snapshot_seconds=0)):
        assert revision(data_dir) == HEAD
    copy = data_dir / FOLDER
    require_intact(copy, read_manifest(copy))
    assert revision(copy) == before
    assert digests(copy).items() >= then.items()
    # Nothing is copied again.
    written = (copy / MANIFEST).stat().st_mtime_ns
    with open_pipeline(Settings(data_dir=data_dir, snapshot_seconds=0)):
        assert (copy / MANIFEST).stat().st_mtime_ns == written


def test_the_copy_is_restored_as_a_backup(data_dir: Path, tmp_path: Path) -> None:
    settings = Settings(data_dir=data_dir, snapshot_seconds=0)
    with open_pipeline(settings):
        pass
    (data_dir / FOLDER).rename(tmp_path / "copy")
    restored = tmp_path / "restored"
    restore_backup(tmp_path / "copy", Settings(data_dir=restored))
    wanted = parts_of(data_dir)
    with open_pipeline(Settings(data_dir=restored, snapshot_seconds=0)):
        pass
    found = parts_of(restored)
    assert {name: part for name, part in found.items() if name in wanted} == found
    assert [name for name in wanted if name.startswith("events of ") and name not in found] == []


def test_a_disk_without_room_changes_nothing(data_dir: Path) -> None:
    then = digests(data_dir)
    settings = Settings(data_dir=data_dir, min_free_disk_bytes=2**60)
    with pytest.raises(DiskFullError, match="TRUELIFT_BACKUP_BEFORE_UPGRADE=false"), open_pipeline(settings):
        pass
    assert digests(data_dir) == then
    assert not (data_dir / FOLDER).exists()
    # Another copy is kept elsewhere.
    with open_pipeline(settings.model_copy(update={"backup_before_upgrade": False})):
        assert revision(data_dir) == HEAD
    assert not (data_dir / FOLDER).exists()


def test_a_disk_that_fills_up_while_copying_leaves_the_old_store(data_dir: Path) -> None:
    # Each of these sizes stops the copy at another file.
    sizes = {path.stat().st_size - 1 for path in data_dir.rglob("*") if path.stat().st_size > 4096}
    then, settings = digests(data_dir), Settings(data_dir=data_dir)
    stopped = 0
    for size in sorted(sizes):
        with no_file_larger_than(size):
            try:
                back_up_before_migration(settings, now=NOW)
            except DiskFullError:
                stopped += 1
                assert list(data_dir.glob(f"{FOLDER}*")) == []
        assert digests(data_dir) == then
    assert stopped
    copy = back_up_before_migration(settings, now=NOW)
    assert copy is not None
    assert digests(copy).items() >= then.items()


def test_a_copy_of_an_earlier_upgrade_or_a_killed_one_is_replaced(data_dir: Path) -> None:
    for name in (FOLDER, f"{FOLDER}.unfinished"):
        (data_dir / name).mkdir()
        (data_dir / name / "left").touch()
    copy = back_up_before_migration(Settings(data_dir=data_dir), now=NOW)
    assert copy == data_dir / FOLDER
    assert not (copy / "left").exists()
    assert [path.name for path in data_dir.glob(f"{FOLDER}*")] == [FOLDER]
