"""Command `doctor`: with the service and without it, and its exit status."""

from pathlib import Path

from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


def test_an_installation_is_examined_beside_its_service_and_without(run: Run, tmp_path: Path) -> None:
    run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example")
    alone = run("doctor", "--data-dir", tmp_path, "--json")
    assert (alone.status, alone.json["status"]) == (0, "ok")
    with served_by_another_process(tmp_path, "--host", "0.0.0.0"):  # noqa: S104  # as containers do
        served = run("doctor", "--data-dir", tmp_path, "--json")
        assert (served.status, served.json["status"]) == (0, "ok")
        by_part = {one["part"]: one for one in served.json["checks"]}
        assert "is ready" in by_part["service"]["finding"]
        assert by_part["store"]["status"] == "not_checked"
        # Nothing says at which address visitors reach it.
        assert by_part["address"]["status"] == "warning"
        assert "name http://127.0.0.1:" in by_part["address"]["finding"]


def test_a_problem_is_told_with_what_to_do(run: Run, tmp_path: Path) -> None:
    run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example")
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database")
    ran = run("doctor", "--data-dir", tmp_path)
    assert (ran.status, "PROBLEM: warehouse" in ran.out) == (1, True)
    assert "restore" in ran.out
    missing = run("doctor", "--data-dir", tmp_path / "none")
    assert (missing.status, "there is no store" in missing.err) == (1, True)
