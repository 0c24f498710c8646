"""Examination: each problem is found, and an installation without problems is said to be fine."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline import examination
from pipeline.clock import utc_now
from pipeline.examination import Examined, examine
from pipeline.settings import Settings
from pipeline.store.catalog.runs.run_record import Run
from tests.pipeline.working_store import a_working_store


@pytest.fixture
def project_id(tmp_path: Path) -> str:
    with a_working_store(tmp_path) as store:
        return store.add_project().id


def found(folder: Path, **fields: object) -> dict[str, Examined]:
    now = fields.pop("now", utc_now())
    settings = Settings(data_dir=folder, **fields)  # type: ignore[arg-type]  # by name
    return {one.part: one for one in examine(settings, is_served=False, now=now)}  # type: ignore[arg-type]


def test_a_sound_installation_has_no_problem(tmp_path: Path, project_id: str) -> None:
    statuses = {part: one.status for part, one in found(tmp_path).items()}
    assert set(statuses) == {"data folder", "permissions", "disk", "catalog", "clock", "runs", "store"}
    assert set(statuses.values()) == {"ok"}
    assert project_id


def test_little_space_is_a_problem_and_soon_little_a_warning(
    tmp_path: Path, project_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, status in ((2**20 - 1, "problem"), (2**20 + 1, "warning"), (2**22, "ok")):
        monkeypatch.setattr(examination, "free_bytes", lambda _, free=free: free)
        assert found(tmp_path, min_free_disk_bytes=2**20)["disk"].status == status
    assert project_id


def test_files_that_others_may_read_are_named(tmp_path: Path, project_id: str) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "warehouse.duckdb").chmod(0o644)
    examined = found(tmp_path)["permissions"]
    assert (examined.status, "warehouse.duckdb" in examined.finding) == ("warning", True)
    tmp_path.chmod(0o700)
    assert found(tmp_path)["permissions"].status == "ok"
    assert project_id


def test_a_clock_behind_the_last_change_is_a_problem(tmp_path: Path, project_id: str) -> None:
    assert found(tmp_path, now=utc_now() - timedelta(hours=1))["clock"].status == "problem"
    assert found(tmp_path, now=utc_now() + timedelta(days=400))["clock"].status == "ok"
    assert project_id


def test_runs_that_failed_drifted_or_wait_are_told(tmp_path: Path, project_id: str) -> None:
    now = utc_now()
    run = Run(project_id=project_id, kind="rollup", trigger="api", created_at=now - timedelta(hours=2))

    def told(*runs: Run) -> list[tuple[str, str]]:
        with a_working_store(tmp_path) as store:
            for one in runs:
                store.catalog.runs.add(one)
        settings = Settings(data_dir=tmp_path)
        return [(one.part, one.status) for one in examine(settings, is_served=False, now=now) if one.action]

    assert told(run) == [("runs", "warning")]
    failed = replace(run, id="run_failed", status="failed", error="the disk is full", run_key=None)
    assert ("runs", "problem") in told(failed)
    # A later run that did its work makes it past.
    done = replace(failed, id="run_done", status="done", error=None, created_at=now - timedelta(hours=1))
    assert told(done) == [("runs", "warning")]
    assert ("drift", "problem") in told(replace(done, id="run_drift", drift=("exp_1",)))
    weekly = replace(done, kind="rebuild", result={"count": "whole", "reason": "week", "why": "a week"})
    assert "counts" not in {part for part, _ in told(replace(weekly, id="run_week"))}
    differed = {**weekly.result, "reason": "events"}
    assert ("counts", "problem") in told(replace(weekly, id="run_differed", result=differed))


def test_a_damaged_store_is_told_with_what_to_do(tmp_path: Path, project_id: str) -> None:
    (tmp_path / "warehouse.duckdb").unlink()
    examined = found(tmp_path)["warehouse"]
    assert (examined.status, "--accept-loss" in examined.action) == ("problem", True)
    assert project_id


def test_a_served_store_is_not_compared(tmp_path: Path, project_id: str) -> None:
    settings = Settings(data_dir=tmp_path)
    statuses = {one.part: one.status for one in examine(settings, is_served=True, now=utc_now())}
    assert statuses["store"] == "not_checked"
    assert project_id


def test_a_check_that_raises_could_not_be_checked_and_hides_no_other(
    tmp_path: Path, project_id: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> int:
        raise OSError("a disk")

    monkeypatch.setattr(examination, "free_bytes", fail)
    examined = found(tmp_path)
    assert (examined["disk"].status, examined["store"].status) == ("not_checked", "ok")
    assert "the disk could not be checked: OSError('a disk')" in examined["disk"].finding
    assert "the check of the disk failed" in caplog.text
    assert project_id
