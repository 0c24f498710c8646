"""A bit that is changed in any file of a store is found by the check or by the start."""

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import duckdb
import polars as pl
import pytest

from pipeline.backup.restoring import restore_backup
from pipeline.backup.writing import write_backup
from pipeline.backup_manifest import BackupError
from pipeline.clock import utc_now
from pipeline.disk_space import DiskFullError
from pipeline.encryption_key import SecretsKeyError
from pipeline.erased_keys import ErasedKeys
from pipeline.inspection import inspect_store
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.sources.watermarks import Watermark, write_watermark
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.ownership import catalog_damage
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.ownership.warehouse_salvage import salvage_warehouse
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from tests.examples import in_shares, trials
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.working_store import a_working_store, an_event, an_exposure

pytestmark = pytest.mark.only_on("sqlite")
VISITORS = 300
REFUSALS = (DamagedStoreError, CatalogError, SecretsKeyError)
# A changed bit of these harms nothing: an index and keys that are made anew, and locks.
HARMLESS = ("*.lock", "*-shm", "command-keys.json")
# After a kill SQLite's log is not in its file yet, and nothing tells what the rows of the file were.
NOT_FOUND = {"killed": {"catalog.sqlite3", "catalog.sqlite3.content.mark"}}


@dataclass(frozen=True)
class Stores:
    """A store that was closed, one as a kill leaves it, and a backup."""

    closed: Path
    killed: Path
    backup: Path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    folder = tmp_path_factory.mktemp("stores")
    with a_working_store(folder / "closed") as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, *(an_exposure(experiment, visitor=f"v{number}") for number in range(VISITORS)))
        store.rollup.refresh(project.id)
        now = store.clock()
        store.nights.keep([experiment], project, [now.date()], run_id="run_1", now=now)
        store.snapshots.write(project.id)
        keys = pl.Series([7], dtype=pl.UInt64)
        ErasedKeys(store.settings).add(project.id, PersonIds(keys, keys.clear()), utc_now())
        mark = Watermark(imported_at=utc_now(), newest_at=None, rows=3, new_rows=3, rejected=0)
        write_watermark(store.settings.data_dir, project.id, "orders", mark)
        write_backup(store, folder / "backup", with_snapshots=True)
        asyncio.run(store.ingest.submit(project.id, [an_event("pageview", f"w{n}") for n in range(9)]))
        shutil.copytree(folder / "closed", folder / "killed")
    return Stores(folder / "closed", folder / "killed", folder / "backup")


def files_of(folder: Path) -> list[Path]:
    """List the files with content, by their path within the folder."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    assert found
    return [path.relative_to(folder) for path in found if not any(map(path.match, HARMLESS))]


def flip(path: Path, rng: random.Random) -> str:
    """Change a bit; return its place."""
    content = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return f"bit {bit} of {path.name}"


def is_found(folder: Path) -> bool:
    """Return whether the check, or else the start, refuses the store in a folder."""
    settings = Settings(data_dir=folder)
    if inspect_store(settings):
        return True
    try:
        with open_pipeline(settings):
            return False
    except REFUSALS:
        return True


@pytest.mark.many(seconds=50)
@pytest.mark.parametrize("kind", ["killed", *in_shares("closed", seconds=50)])
def test_a_changed_bit_of_any_file_is_found(stores: Stores, tmp_path: Path, kind: str) -> None:
    rng, whole, unfound = random.Random(7), getattr(stores, kind), dict[str, str]()  # noqa: S311 - places
    assert not is_found(Path(shutil.copytree(whole, tmp_path / "sound")))
    for name in files_of(whole):
        for _ in range(trials(1, 20)):
            changed = Path(shutil.copytree(whole, tmp_path / "changed"))
            place = flip(changed / name, rng)
            if not is_found(changed):
                unfound[name.as_posix()] = place
            shutil.rmtree(changed)
    assert set(unfound) <= NOT_FOUND.get(kind, set()), unfound


@pytest.mark.many(seconds=20)
def test_a_changed_bit_of_any_file_of_a_backup_is_found(stores: Stores, tmp_path: Path) -> None:
    rng = random.Random(8)  # noqa: S311 - places
    for name in files_of(stores.backup):
        for _ in range(trials(2, 20)):
            changed = Path(shutil.copytree(stores.backup, tmp_path / "changed"))
            flip(changed / name, rng)
            with pytest.raises(BackupError):
                restore_backup(changed, Settings(data_dir=tmp_path / "restored"))
            shutil.rmtree(changed)
    assert not (tmp_path / "restored" / "catalog.sqlite3").exists()


def spoil(path: Path, first: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(first)
        file.write(b"\xff" * length)


def test_the_rows_of_a_damaged_catalog_that_can_be_read_are_saved(
    stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(stores.closed, tmp_path / "store"))
    path, settings = folder / "catalog.sqlite3", Settings(data_dir=folder)
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'members'"
        (page,) = connection.execute(query).fetchone()
    spoil(path, (page - 1) * size, size)
    (finding,) = inspect_store(settings)
    assert "--accept-loss" in finding.action
    with pytest.raises(DamagedStoreError, match="--accept-loss"), open_pipeline(settings):
        pass
    # One that a full disk or a kill interrupts is done by the next.
    with monkeypatch.context() as patched:
        patched.setattr(catalog_damage, "_rows", Mock(side_effect=OSError("no room")))
        with pytest.raises(OSError, match="no room"), open_pipeline(settings, accept_loss=True):
            pass
    with open_pipeline(settings, accept_loss=True) as saved:
        (project,) = saved.catalog.projects.all()
        assert saved.catalog.experiments.of_project(project.id)
        assert saved.catalog.members.accepted(project.account_id) == []
    assert "1 rows of the table projects were saved" in caplog.text
    assert list(folder.glob("catalog.sqlite3.damaged-*"))
    assert inspect_store(settings) == []


@pytest.mark.many(seconds=5)
def test_the_rows_of_a_damaged_warehouse_that_can_be_read_are_saved(stores: Stores, tmp_path: Path) -> None:
    saved, block = list[int](), 256 * 1024
    size = (stores.closed / "warehouse.duckdb").stat().st_size
    for first in range(3 * 4096, size, block * trials(2, 1)):
        folder = Path(shutil.copytree(stores.closed, tmp_path / str(first)))
        settings = Settings(data_dir=folder)
        spoil(folder / "warehouse.duckdb", first + block // 2, 1)
        # Some blocks are of no table.
        if not inspect_store(settings):
            continue
        with open_pipeline(settings, accept_loss=True) as store:
            (project,) = store.catalog.projects.all()
            saved.append(sum(count_by_type(store.warehouse, project.id).values()))
        assert list(folder.glob("warehouse.duckdb.damaged-*"))
        assert {finding.part for finding in inspect_store(settings)} <= {"snapshots"}
    # All events but where the block was theirs, or of the list of all tables.
    assert saved.count(VISITORS + 9) >= len(saved) / 2 > 0


def test_a_full_disk_leaves_a_damaged_warehouse_as_it_is(tmp_path: Path) -> None:
    # A quote in its path is no end of a text in SQL.
    folder = tmp_path / "o'hara"
    folder.mkdir()
    path, aside = folder / "warehouse.duckdb", folder / "warehouse.duckdb.damaged"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT hash(range) AS number FROM range(300_000)")
    with no_file_larger_than(path.stat().st_size // 2), pytest.raises(DiskFullError):
        salvage_warehouse(path, aside)
    assert list(folder.iterdir()) == [path]
    assert salvage_warehouse(path, aside)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM numbers").fetchall() == [(300_000,)]
