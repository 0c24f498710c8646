"""Command `check`: exit status, sentences and JSON."""

from pathlib import Path

import pytest

from tests.api.cli.conftest import Run
from tests.pipeline.working_store import a_working_store


def test_a_sound_store_is_said_to_be_sound(run: Run, tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        store.add_project()
    ran = run("check", "--data-dir", tmp_path)
    assert (ran.status, "is sound" in ran.out) == (0, True)
    assert run("check", "--data-dir", tmp_path, "--json").json == {"status": "ok", "problems": []}


def test_a_problem_is_told_with_what_to_do_and_status_1(run: Run, tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store:
        store.add_project()
    (tmp_path / "warehouse.duckdb").unlink()
    ran = run("check", "--data-dir", tmp_path, "--json")
    (problem,) = ran.json["problems"]
    assert (ran.status, ran.json["status"], problem["part"]) == (1, "problems", "warehouse")
    assert "serve --accept-loss" in problem["action"]
    ran = run("check", "--data-dir", tmp_path)
    assert (ran.status, ran.out.startswith("warehouse: ")) == (1, True)


@pytest.mark.only_on("sqlite")
@pytest.mark.usefixtures("account")
def test_a_catalog_with_a_changed_bit_is_reported_and_refused_by_the_service(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "catalog.sqlite3"
    content = bytearray(path.read_bytes())
    # In the name of the account: no rule of SQLite says that it was another.
    content[content.index(b"Shop")] ^= 1
    path.write_bytes(content)
    (problem,) = run("check", "--data-dir", tmp_path, "--json").json["problems"]
    refused = run("serve", "--data-dir", tmp_path)
    assert refused.status == 1
    assert "a bit was changed on the disk" in problem["problem"]
    assert "a bit was changed on the disk" in " ".join(refused.err.split())
    assert "serve --accept-loss" in problem["action"]
    assert "serve --accept-loss" in " ".join(refused.err.split())
    assert path.read_bytes() == content


def test_a_store_in_use_and_an_absent_one_are_refused(run: Run, tmp_path: Path) -> None:
    with a_working_store(tmp_path):
        ran = run("check", "--data-dir", tmp_path)
    assert (ran.status, "is in use by process" in ran.err) == (1, True)
    ran = run("check", "--data-dir", tmp_path / "absent")
    assert (ran.status, "there is no store in" in ran.err) == (1, True)
    assert not (tmp_path / "absent").exists()
