"""A backup is verified as a whole before anything is restored, into empty places only."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from cryptography.fernet import Fernet

from pipeline.backup.restoring import restore_backup
from pipeline.backup.writing import write_backup
from pipeline.backup_manifest import MANIFEST, BackupError, read_manifest
from pipeline.store.ownership.store_lock import StoreOwnedError, locked_store
from tests.pipeline.backup.stores import all_results, fill, results_in, settings_of
from tests.pipeline.working_store import a_working_store


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a store with some traffic, which no test changes."""
    folder = tmp_path_factory.mktemp("written")
    with a_working_store(folder / "store") as store:
        fill(store)
        write_backup(store, folder / "backup", with_snapshots=False)
    return folder / "backup"


@pytest.fixture
def backup(written: Path, tmp_path: Path) -> Path:
    """A copy of the backup."""
    copy = tmp_path / "backup"
    copy.mkdir()
    for path in written.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


@pytest.mark.parametrize("name", ["warehouse.duckdb", "catalog.sqlite3", "secrets.key"])
def test_a_changed_byte_of_any_file_is_found_before_anything_is_written(
    backup: Path, tmp_path: Path, name: str
) -> None:
    content = bytearray((backup / name).read_bytes())
    content[len(content) // 2] ^= 1
    (backup / name).write_bytes(content)
    with pytest.raises(BackupError, match="not as it was written"):
        restore_backup(backup, settings_of(tmp_path / "restored"))
    assert not (tmp_path / "restored").exists()


def test_a_missing_file_and_a_path_outside_are_refused(backup: Path, tmp_path: Path) -> None:
    (backup / "warehouse.duckdb").unlink()
    with pytest.raises(BackupError, match=r"lacks .*warehouse\.duckdb"):
        restore_backup(backup, settings_of(tmp_path / "restored"))
    manifest = read_manifest(backup)
    outside = msgspec.structs.replace(manifest.files[0], path="../stranger")
    wrong = msgspec.structs.replace(manifest, files=(outside,))
    (backup / MANIFEST).write_bytes(msgspec.json.encode(wrong))
    with pytest.raises(BackupError, match="outside of the backup"):
        restore_backup(backup, settings_of(tmp_path / "restored"))


def test_a_damaged_newer_or_missing_manifest_is_refused(backup: Path, tmp_path: Path) -> None:
    newer = msgspec.structs.replace(read_manifest(backup), format=2)
    for content, message in ((msgspec.json.encode(newer), "newer version"), (b"{}", "damaged")):
        (backup / MANIFEST).write_bytes(content)
        with pytest.raises(BackupError, match=message):
            restore_backup(backup, settings_of(tmp_path / "restored"))
    (backup / MANIFEST).unlink()
    with pytest.raises(BackupError, match="no whole backup"):
        restore_backup(backup, settings_of(tmp_path / "restored"))


def test_a_data_folder_with_anything_in_it_is_refused_and_stays(backup: Path, tmp_path: Path) -> None:
    target = tmp_path / "restored"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    with pytest.raises(BackupError, match=r"holds notes\.txt already"):
        restore_backup(backup, settings_of(target))
    assert [path.name for path in target.iterdir()] == ["notes.txt"]


def test_a_second_restoration_is_refused(backup: Path, tmp_path: Path) -> None:
    restore_backup(backup, settings_of(tmp_path / "restored"))
    before = results_in(tmp_path / "restored")
    with pytest.raises(BackupError, match="already"):
        restore_backup(backup, settings_of(tmp_path / "restored"))
    assert results_in(tmp_path / "restored") == before


def test_what_a_killed_restoration_left_is_replaced(backup: Path, tmp_path: Path) -> None:
    left = tmp_path / "restored" / "restoring"
    left.mkdir(parents=True)
    (left / "warehouse.duckdb").write_text("half of it")
    restore_backup(backup, settings_of(tmp_path / "restored"))
    assert not left.exists()
    assert len(results_in(tmp_path / "restored")) == 4


def test_a_folder_in_use_is_refused(backup: Path, tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "restored")
    with locked_store(settings), pytest.raises(StoreOwnedError):
        restore_backup(backup, settings)


def test_the_key_of_the_store_is_required(tmp_path: Path) -> None:
    key = Fernet.generate_key().decode()
    with a_working_store(tmp_path / "store", secrets_key=key) as store:
        manifest = write_backup(store, tmp_path / "backup", with_snapshots=False)
    assert not manifest.has_secrets_key
    with pytest.raises(BackupError, match="set it to the same"):
        restore_backup(tmp_path / "backup", settings_of(tmp_path / "restored"))
    other = settings_of(tmp_path / "restored", secrets_key=Fernet.generate_key().decode())
    with pytest.raises(BackupError, match="not the key"):
        restore_backup(tmp_path / "backup", other)
    restore_backup(tmp_path / "backup", settings_of(tmp_path / "restored", secrets_key=key))
    assert not (tmp_path / "restored" / "secrets.key").exists()


@pytest.mark.long(seconds=4)
def test_a_catalog_is_restored_on_the_same_database_as_on_another(
    tmp_path: Path, new_catalog_url: Callable[[], str | None]
) -> None:
    with a_working_store(tmp_path / "store", catalog_url=new_catalog_url()) as store:
        fill(store)
        write_backup(store, tmp_path / "backup", with_snapshots=False)
        before = all_results(store)
    url = new_catalog_url()
    restore_backup(tmp_path / "backup", settings_of(tmp_path / "restored", catalog_url=url))
    assert results_in(tmp_path / "restored", catalog_url=url) == before
    restore_backup(tmp_path / "backup", settings_of(tmp_path / "on_sqlite", catalog_url=None))
    assert results_in(tmp_path / "on_sqlite", catalog_url=None) == before
    if url is not None:
        with pytest.raises(BackupError, match="is not empty"):
            restore_backup(tmp_path / "backup", settings_of(tmp_path / "again", catalog_url=url))
