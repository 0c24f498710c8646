"""Inspection of stores with one part missing, damaged, or of another store."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import inspection
from pipeline.inspection import inspect_store
from pipeline.settings import Settings
from pipeline.snapshots.manifest import MANIFEST
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.working_store import a_working_store, an_exposure

Damage = Callable[[Path], object]


def a_store_with_a_snapshot(folder: Path) -> Settings:
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, *(an_exposure(experiment, visitor=f"v{number}") for number in range(5)))
        store.rollup.refresh(project.id)
        store.snapshots.write(project.id)
        return store.settings


def spoil_a_snapshot(folder: Path) -> None:
    path = next(folder.glob("snapshots/*/events/*.parquet"))
    path.write_bytes(b"x" * path.stat().st_size)


def remove_events(folder: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=folder))
    with warehouse.cursor() as cursor:
        (table,) = cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, 'events_')"
        ).fetchall()[0]
        cursor.execute(f'DELETE FROM "{table}" WHERE seq > 2')  # noqa: S608 - a table of our own
    warehouse.close()


DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "warehouse gone": (lambda folder: (folder / "warehouse.duckdb").unlink(), {"warehouse"}),
    "warehouse spoiled": (
        lambda folder: (folder / "warehouse.duckdb").write_bytes(b"x" * 999),
        {"warehouse"},
    ),
    "events gone": (remove_events, {"sequence numbers", "snapshots"}),
    "snapshot spoiled": (spoil_a_snapshot, {"snapshots"}),
    "snapshot file gone": (lambda folder: next(folder.glob("snapshots/*/events/*")).unlink(), {"snapshots"}),
    "manifest spoiled": (
        lambda folder: next(folder.glob(f"snapshots/*/{MANIFEST}")).write_text("{"),
        {"snapshots"},
    ),
}


def test_a_sound_store_has_no_findings_and_is_left_as_it_was(tmp_path: Path) -> None:
    settings = a_store_with_a_snapshot(tmp_path)
    before = (tmp_path / "warehouse.duckdb").read_bytes()
    assert inspect_store(settings) == []
    assert (tmp_path / "warehouse.duckdb").read_bytes() == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_is_found_with_what_to_do(tmp_path: Path, damage: str) -> None:
    settings = a_store_with_a_snapshot(tmp_path)
    inflict, parts = DAMAGES[damage]
    inflict(tmp_path)
    findings = inspect_store(settings)
    assert {finding.part for finding in findings} == parts
    assert all("truelift" in finding.action for finding in findings)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("damage", ["gone", "empty", "spoiled"])
def test_a_damaged_catalog_is_found(tmp_path: Path, damage: str) -> None:
    settings = a_store_with_a_snapshot(tmp_path)
    path = tmp_path / "catalog.sqlite3"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else b"x" * 5000)
    assert {finding.part for finding in inspect_store(settings)} == {"catalog"}
    assert path.exists() == (damage != "gone")


def test_a_comparison_that_raises_is_a_finding_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = a_store_with_a_snapshot(tmp_path)
    spoil_a_snapshot(tmp_path)

    def fail(*_: object) -> None:
        raise OSError("a disk")

    monkeypatch.setattr(inspection, "inspect_spool", fail)
    by_part = {one.part: one.problem for one in inspect_store(settings)}
    assert set(by_part) == {"sequence numbers", "snapshots"}
    assert by_part["sequence numbers"] == "the sequence numbers could not be checked: OSError('a disk')"
    assert "the check of the sequence numbers failed" in caplog.text
