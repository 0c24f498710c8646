import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.settings import Settings
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.ownership import store_lock
from pipeline.store.ownership.store_lock import OwnershipLostError, StoreOwnedError, find_owner, locked_store
from pipeline.store.private_files import FolderError


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_lock, "WAIT_SECONDS", 0.0)


def test_a_store_has_one_owner_and_its_name_is_told(tmp_path: Path) -> None:
    with locked_store(Settings(data_dir=tmp_path)) as lock:
        assert (lock.owner.pid, lock.owner.host) == (os.getpid(), socket.gethostname())
        with pytest.raises(StoreOwnedError) as refused, locked_store(Settings(data_dir=tmp_path)):
            pass
        assert refused.value.owner == lock.owner
        assert f"process {os.getpid()} on {socket.gethostname()} since 20" in str(refused.value)
    with locked_store(Settings(data_dir=tmp_path)):
        pass


def test_a_catalog_that_two_folders_share_has_one_owner(
    tmp_path: Path, new_catalog_url: Callable[[], str | None]
) -> None:
    url = new_catalog_url() or f"sqlite:///{tmp_path / 'shared.sqlite3'}"
    one, two = (Settings(data_dir=tmp_path / name, catalog_url=url) for name in ("one", "two"))
    with locked_store(one):
        with pytest.raises(StoreOwnedError), locked_store(two):
            pass
        # The folder that was refused is free again.
        with locked_store(Settings(data_dir=two.data_dir, catalog_url=f"sqlite:///{tmp_path / 'other'}")):
            pass
    with locked_store(two):
        pass


def test_an_owner_notices_that_its_lock_file_is_gone(tmp_path: Path) -> None:
    with locked_store(Settings(data_dir=tmp_path)) as lock:
        lock.require_files()
        (tmp_path / "warehouse.duckdb.lock").unlink()
        with pytest.raises(OwnershipLostError, match="was removed or replaced"):
            lock.require_files()


def test_a_folder_that_cannot_be_used_is_named_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderError, match=r"file cannot be used: (Not a directory|File exists)"):  # noqa: SIM117
        with locked_store(Settings(data_dir=tmp_path / "file")):
            pass


def test_a_server_that_is_not_there_is_named_in_a_sentence(tmp_path: Path) -> None:
    url = f"postgresql:///catalog?host={tmp_path}"
    with pytest.raises(CatalogError, match="cannot be opened: connection") as refused:  # noqa: SIM117
        with locked_store(Settings(data_dir=tmp_path, catalog_url=url)):
            pass
    assert "\n" not in str(refused.value)


def test_an_owner_is_found_with_its_address_while_it_owns_the_store(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert find_owner(settings) is None
    with locked_store(settings) as lock:
        assert find_owner(settings) == lock.owner
        lock.note_address("http://127.0.0.1:8000")
        assert find_owner(settings) == lock.owner
        assert lock.owner.address == "http://127.0.0.1:8000"
        with pytest.raises(StoreOwnedError) as refused, locked_store(settings):
            pass
        assert refused.value.owner == lock.owner
    assert find_owner(settings) is None
