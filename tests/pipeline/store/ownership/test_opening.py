"""Stores as a kill leaves them, with one part missing, damaged or of another store."""

import asyncio
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline.disk_space import DiskFullError
from pipeline.inspection import inspect_store
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.spool.segments import segment_paths
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.working_store import a_working_store, an_event

STORED = 12


def killed_store(folder: Path, *, checkpointed: int = 3) -> Path:
    """Copy the files of a store that is open, as a kill leaves them: STORED events, the newest in the log."""
    with a_working_store(folder / "open") as store:
        project = store.add_project()
        for number in range(STORED):
            if number == checkpointed:
                store.warehouse.checkpoint()
            store.write(project, an_event("pageview", f"v{number}", url="https://shop.example/"))
        return Path(shutil.copytree(folder / "open", folder / "killed"))


def count_stored(data_dir: Path, *, accept_loss: bool = False) -> int:
    with open_pipeline(Settings(data_dir=data_dir), accept_loss=accept_loss) as store:
        return sum(
            sum(count_by_type(store.warehouse, one).values())
            for one in events.stored_projects(store.warehouse)
        )


def cut(path: Path, share: float) -> None:
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * share))


def spoil(path: Path, share: float) -> None:
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * share))
        file.write(b"\xff" * 64)


def contents(folder: Path) -> dict[str, bytes]:
    """What is left of the warehouse; an empty log has nothing to keep."""
    found = {name: folder / name for name in (LOG, WAREHOUSE)}
    return {name: path.read_bytes() for name, path in found.items() if path.exists() and path.stat().st_size}


LOG, WAREHOUSE = "warehouse.duckdb.wal", "warehouse.duckdb"
DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "log removed": (LOG, Path.unlink),
    "log empty": (LOG, lambda path: cut(path, 0)),
    "log cut": (LOG, lambda path: cut(path, 0.5)),
    "log spoiled": (LOG, lambda path: spoil(path, 0.5)),
    "log spoiled at its start": (LOG, lambda path: spoil(path, 0)),
    "warehouse removed": (WAREHOUSE, Path.unlink),
    "warehouse empty": (WAREHOUSE, lambda path: cut(path, 0)),
    "warehouse spoiled": (WAREHOUSE, lambda path: spoil(path, 0)),
}


def test_a_killed_store_opens_with_every_event(tmp_path: Path) -> None:
    assert count_stored(killed_store(tmp_path)) == STORED


def each(damages: Iterable[str], *on_every_database: str) -> list[Any]:
    """Try some on every database, and leave those that run the same lines as another to the shares."""
    others = (pytest.mark.only_on("sqlite"), pytest.mark.long(seconds=1))
    return [pytest.param(one, marks=() if one in on_every_database else others) for one in damages]


@pytest.mark.parametrize(
    "damage", each(DAMAGES, "log spoiled", "log cut", "warehouse removed", "warehouse spoiled")
)
def test_a_damaged_store_is_refused_unchanged_until_the_loss_is_accepted(tmp_path: Path, damage: str) -> None:
    folder = killed_store(tmp_path)
    name, inflict = DAMAGES[damage]
    inflict(folder / name)
    left = contents(folder)
    for _ in range(2):
        with pytest.raises(DamagedStoreError, match="truelift serve --accept-loss"):
            count_stored(folder)
    assert contents(folder) == left
    assert 0 <= count_stored(folder, accept_loss=True) < STORED
    # Once accepted, the store is whole again, and takes events with new numbers.
    with a_working_store(folder) as store:
        (project,) = store.catalog.projects.all()
        store.write(project, an_event("pageview"))
        assert events.last_seq(store.warehouse) > (0 if name == WAREHOUSE else STORED)
    count_stored(folder)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("name", ["catalog.sqlite3", "catalog.sqlite3-wal"])
def test_a_catalog_that_lost_commits_is_refused(tmp_path: Path, name: str) -> None:
    folder = killed_store(tmp_path)
    (folder / name).unlink()
    with pytest.raises(DamagedStoreError, match=r"catalog.sqlite3 (has lost .* commits|is missing)"):
        count_stored(folder)
    with pytest.raises(DamagedStoreError):
        Catalog.open(Settings(data_dir=folder))
    assert name != "catalog.sqlite3" or not (folder / name).exists()
    assert count_stored(folder, accept_loss=True) == STORED
    assert count_stored(folder) == STORED


@pytest.mark.only_on("sqlite")
def test_a_catalog_that_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    (tmp_path / "catalog.sqlite3").mkdir()
    reason = "cannot be opened: unable to open database file"
    with pytest.raises(CatalogError, match=reason), open_pipeline(settings):
        pass
    (finding,) = inspect_store(settings)
    assert reason in finding.problem


def test_a_warehouse_without_its_catalog_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_catalog_url: Callable[[], str | None]
) -> None:
    folder = killed_store(tmp_path)
    for path in folder.glob("catalog.sqlite3*"):
        path.unlink()
    if url := new_catalog_url():
        monkeypatch.setenv("TRUELIFT_CATALOG_URL", url)
    with pytest.raises(DamagedStoreError, match=r"the catalog .* is missing"):
        count_stored(folder)
    assert not list(folder.glob("catalog.sqlite3"))
    assert count_stored(folder, accept_loss=True) == STORED


@pytest.mark.only_on("sqlite")
def test_the_warehouse_of_another_catalog_is_refused(tmp_path: Path) -> None:
    one, two = (tmp_path / name for name in ("one", "two"))
    for folder in (one, two):
        with a_working_store(folder) as store:
            store.write(store.add_project(), an_event("pageview"))
    shutil.copy(one / WAREHOUSE, two / WAREHOUSE)
    with pytest.raises(DamagedStoreError, match=r"is not the catalog's, which was last opened in .*two"):
        count_stored(two)
    # Moved as a whole, a store is the same one.
    assert count_stored(Path(one.rename(tmp_path / "moved"))) == 1


@pytest.mark.only_on("sqlite")
def test_a_store_of_before_the_ids_is_adopted_unless_a_part_is_missing(tmp_path: Path) -> None:
    with a_working_store(tmp_path / "old") as store:
        store.write(store.add_project(), an_event("pageview"))
        with store.warehouse.cursor() as cursor:
            cursor.execute("DROP TABLE warehouse_identity")
        with store.catalog.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM warehouses")
    for mark in (tmp_path / "old").glob("*.mark"):
        mark.unlink()
    parts = {"no warehouse": "warehouse.duckdb", "no catalog": "catalog.sqlite3"}
    for name, part in parts.items():
        folder = Path(shutil.copytree(tmp_path / "old", tmp_path / name))
        (folder / part).unlink()
        with pytest.raises(DamagedStoreError, match="is missing"):
            count_stored(folder)
    assert count_stored(tmp_path / "old") == 1
    assert count_stored(tmp_path / "old") == 1


def test_an_end_between_the_two_ids_is_made_up_for(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        with store.warehouse.cursor() as cursor:
            cursor.execute("DROP TABLE warehouse_identity")
        with store.catalog.database.write() as connection:
            connection.exec_driver_sql("UPDATE warehouses SET is_confirmed = false")
        before = store.catalog.warehouses.find()
    with a_working_store(tmp_path) as store:
        after = store.catalog.warehouses.find()
    assert before is not None
    assert after is not None
    assert (after.id, after.is_confirmed) == (before.id, True)


def test_the_owner_and_its_folder_are_recorded(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        record = store.catalog.warehouses.find()
        assert record is not None
        assert (record.owner, record.folder) == (store.lock.owner, str(tmp_path.resolve()))


def test_a_closed_warehouse_is_not_written_to(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    with warehouse.cursor() as cursor:
        cursor.execute("CREATE TABLE a (x BIGINT)")
    log = tmp_path / LOG
    before = log.read_bytes()
    warehouse.close(with_checkpoint=False)
    assert log.read_bytes() == before


def killed_while_loading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy a store as a kill leaves it: with four events in the warehouse, and four that are in the spool."""
    with a_working_store(folder / "open") as store:
        project = store.add_project()

        def send(*numbers: int) -> None:
            for number in numbers:
                event = an_event("pageview", f"v{number}", url="https://shop.example/")
                asyncio.run(store.ingest.submit(project.id, [event]))

        send(1, 2, 3, 4)
        assert store.ingest.load()
        with monkeypatch.context() as slow:
            # Nothing is loaded until the copy is made.
            slow.setattr(store.warehouse, "transaction", _refused)
            send(5, 6, 7, 8)
            return Path(shutil.copytree(folder / "open", folder / "killed"))


def _refused() -> None:
    raise DiskFullError("the disk is full")


def the_segment(folder: Path) -> Path:
    (path,) = segment_paths(folder / "spool").values()
    return path


SPOOL_DAMAGES: dict[str, tuple[Callable[[Path], object], int]] = {
    "spool removed": (lambda folder: shutil.rmtree(folder / "spool"), 4),
    "spool emptied": (lambda folder: the_segment(folder).unlink(), 4),
    "last record cut": (lambda folder: cut(the_segment(folder), 0.95), 7),
    "record in the middle spoiled": (lambda folder: spoil(the_segment(folder), 0.75), 6),
}


@pytest.mark.parametrize("damage", each(SPOOL_DAMAGES, "spool removed", "record in the middle spoiled"))
def test_a_damaged_spool_is_refused_unchanged_until_the_loss_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    folder = killed_while_loading(tmp_path, monkeypatch)
    inflict, least = SPOOL_DAMAGES[damage]
    inflict(folder)
    left = {path: path.read_bytes() for path in folder.glob("spool/*")}
    for _ in range(2):
        with pytest.raises(DamagedStoreError, match="truelift serve --accept-loss"):
            count_stored(folder)
    assert {path: path.read_bytes() for path in folder.glob("spool/*")} == left
    assert any(finding.part != "snapshots" for finding in inspect_store(Settings(data_dir=folder)))
    assert least <= count_stored(folder, accept_loss=True) < 8
    assert inspect_store(Settings(data_dir=folder)) == []
    # New events get new numbers.
    with a_working_store(folder) as store:
        (project,) = store.catalog.projects.all()
        store.write(project, an_event("pageview"))
        assert events.last_seq(store.warehouse) > 8
    assert count_stored(folder) > least


def test_a_spool_that_a_kill_or_a_power_cut_tore_opens_with_what_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed_while_loading(tmp_path, monkeypatch)
    path = the_segment(folder)
    path.write_bytes(path.read_bytes() + path.read_bytes()[-60:-1])
    assert inspect_store(Settings(data_dir=folder)) == []
    assert count_stored(folder) == 8


def test_a_stopped_store_has_an_empty_spool_and_is_whole_without_it(tmp_path: Path) -> None:
    with a_working_store(tmp_path / "one") as store:
        project = store.add_project()
        asyncio.run(store.ingest.submit(project.id, [an_event("pageview")]))
    assert not (tmp_path / "one" / "spool").exists()
    assert count_stored(Path(shutil.copytree(tmp_path / "one", tmp_path / "backup"))) == 1


def test_the_spool_of_another_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_catalog_url: Callable[[], str | None]
) -> None:
    killed = killed_while_loading(tmp_path, monkeypatch)
    if url := new_catalog_url():
        monkeypatch.setenv("TRUELIFT_CATALOG_URL", url)
    with a_working_store(tmp_path / "other") as store:
        store.write(store.add_project(), an_event("pageview"))
    shutil.copytree(killed / "spool", tmp_path / "other" / "spool")
    with pytest.raises(DamagedStoreError, match="is of another warehouse"):
        count_stored(tmp_path / "other")
    assert count_stored(tmp_path / "other", accept_loss=True) == 1
    assert len(list(tmp_path.glob("other/spool.damaged-*/*"))) == 1


def test_an_old_copy_of_the_warehouse_beside_a_newer_spool_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_catalog_url: Callable[[], str | None]
) -> None:
    with a_working_store(tmp_path / "open") as store:
        store.add_project()
    old = (tmp_path / "open" / WAREHOUSE).read_bytes()
    shutil.rmtree(tmp_path / "open")
    if url := new_catalog_url():
        monkeypatch.setenv("TRUELIFT_CATALOG_URL", url)
    killed = killed_while_loading(tmp_path, monkeypatch)
    (killed / WAREHOUSE).write_bytes(old)
    (killed / LOG).unlink()
    with pytest.raises(DamagedStoreError):
        count_stored(killed)
