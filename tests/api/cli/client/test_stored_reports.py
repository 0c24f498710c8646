"""Command `report` of an experiment: the same file by the service and without it."""

import json
from pathlib import Path

import polars as pl

from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


def test_an_experiment_is_reported_with_the_service_as_without(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run("init", "--data-dir", store, "--account", "Shop", "--email", "a@shop.example")
    pl.DataFrame({"page": ["A", "B"] * 50, "bought": [1, 0, 0, 1] * 25}).write_csv(tmp_path / "visits.csv")
    columns = ("--variant", "page", "--control", "A", "--goal", "bought", "--json")
    experiment = run("import", tmp_path / "visits.csv", "--data-dir", store, *columns).json["experiment_id"]
    asked = ("report", experiment, "--data-dir", store)

    def written(name: str, *options: str) -> bytes:
        ran = run(*asked, "--out", tmp_path / name, *options)
        assert ran.status == 0, ran.err
        return (tmp_path / name).read_bytes()

    alone = written("alone.md", "--format", "md")
    assert b"| B | 50 |" in alone
    with served_by_another_process(store):
        assert written("served.md", "--format", "md") == alone
        assert written("served.png", "--format", "png").startswith(b"\x89PNG")
        unknown = run("report", "exp_unknown", "--data-dir", store, "--out", tmp_path / "none.html")
        assert (unknown.status, "exp_unknown" in unknown.err) == (1, True)
    goals = json.loads(written("alone.json", "--format", "json"))["goals"]
    assert [one["visitors"] for one in goals[0]["variants"]] == [50, 50]
    page = written("alone.html").decode()
    assert "<svg" in page
    assert "<script" not in page
    unknown = run("report", "exp_unknown", "--data-dir", store, "--out", tmp_path / "none.html")
    assert (unknown.status, "exp_unknown" in unknown.err) == (1, True)
    assert not (tmp_path / "none.html").exists()
    missing = run("report", experiment, "--data-dir", tmp_path / "empty", "--out", tmp_path / "none.html")
    assert (missing.status, "there is no store" in missing.err) == (1, True)
