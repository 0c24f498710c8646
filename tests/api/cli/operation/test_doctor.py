"""Command `doctor`: with the service and without it, and its exit status."""

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


def test_an_installation_is_examined_beside_its_service_and_without(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example")
    key = next(word for word in ran.out.split() if word.startswith("svc_live_"))
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
        address = re.search(r"name (http://127\.0\.0\.1:\d+),", by_part["address"]["finding"])
        assert address is not None
        # The snippet is loaded from there, and not from the port that is the default.
        assert f'"{address[1]}/sdk/v1/' in read_installation(address[1], key)["snippet_html"]
    monkeypatch.setenv("TRUELIFT_BASE_URL", "https://ab.example")
    with served_by_another_process(tmp_path, "--host", "0.0.0.0"):  # noqa: S104  # as containers do
        told = run("doctor", "--data-dir", tmp_path, "--json")
        assert "address" not in {one["part"] for one in told.json["checks"]}


def read_installation(address: str, key: str) -> dict[str, Any]:
    """Create a project in the service at an address, and read the code that connects its site."""
    with httpx2.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {key}"}) as client:
        body = {"name": "Shop", "url": "https://shop.example"}
        created = client.post("/projects", json=body).json()["data"]
        found: dict[str, Any] = client.get(f"/projects/{created['id']}/installation").json()["data"]
        return found


def test_a_problem_is_told_with_what_to_do(run: Run, tmp_path: Path) -> None:
    run("init", "--data-dir", tmp_path, "--account", "Shop", "--email", "a@shop.example")
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database")
    ran = run("doctor", "--data-dir", tmp_path)
    assert (ran.status, "PROBLEM: warehouse" in ran.out) == (1, True)
    assert "restore" in ran.out
    missing = run("doctor", "--data-dir", tmp_path / "none")
    assert (missing.status, "there is no store" in missing.err) == (1, True)
