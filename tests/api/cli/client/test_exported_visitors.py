"""Command `export`: the same visitors by the service and without it, whole or not at all."""

import json
from pathlib import Path

import polars as pl

from api.cli.stores import opened_catalog
from pipeline.store.catalog.audit import AuditEntry
from pipeline.store.catalog.catalog import Catalog
from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


def exports_of(catalog: Catalog, experiment_id: str) -> list[AuditEntry]:
    """What the audit trail tells of exports."""
    return [one for one in catalog.audit.of(experiment_id) if "exported" in one.changes]


def test_visitors_are_exported_with_the_service_as_without(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run("init", "--data-dir", store, "--account", "Shop", "--email", "a@shop.example")
    pl.DataFrame({"page": ["A", "B"] * 50, "bought": [1, 0, 0, 1] * 25}).write_csv(tmp_path / "visits.csv")
    columns = ("--variant", "page", "--control", "A", "--goal", "bought", "--json")
    experiment = run("import", tmp_path / "visits.csv", "--data-dir", store, *columns).json["experiment_id"]
    asked = ("export", experiment, "--data-dir", store)

    written = run(*asked, "--out", tmp_path / "alone.csv", "--json")
    size = (tmp_path / "alone.csv").stat().st_size
    assert (written.json["format"], written.json["bytes"]) == ("csv", size)
    alone = pl.read_csv(tmp_path / "alone.csv")
    assert alone["variant_name"].value_counts(sort=True)["count"].to_list() == [50, 50]
    with served_by_another_process(store):
        assert run(*asked, "--out", tmp_path / "served.csv").status == 0
        assert run(*asked, "--out", tmp_path / "rows.txt", "--format", "ndjson").status == 0
        unknown = run("export", "exp_unknown", "--data-dir", store, "--out", tmp_path / "none.csv")
    assert (tmp_path / "served.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "rows.txt").read_text().splitlines()]
    assert [one["visitor_id"] for one in lines] == alone["visitor_id"].to_list()
    assert (unknown.status, "exp_unknown" in unknown.err) == (1, True)
    nowhere = run(*asked, "--out", tmp_path / "missing" / "rows.csv")
    assert (nowhere.status, "cannot be written" in nowhere.err) == (1, True)
    with opened_catalog(store) as catalog:
        told = [(one.actor[:4], one.changes["exported"][1]) for one in exports_of(catalog, experiment)]
    assert told == [("comm", "csv"), ("key_", "csv"), ("key_", "ndjson")]
    # Nothing is left of exports that failed.
    assert {path.name for path in tmp_path.iterdir()} == {
        *("store", "visits.csv", "alone.csv", "served.csv", "rows.txt")
    }


def test_a_file_of_another_ending_needs_a_format(run: Run, tmp_path: Path) -> None:
    refused = run("export", "exp_1", "--data-dir", tmp_path, "--out", tmp_path / "rows.xlsx")
    assert refused.status == 2
    assert "name the --format" in " ".join(refused.err.replace("│", " ").split())
