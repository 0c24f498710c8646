"""Command `demo`: the verdicts of its experiments of known effect, and its past."""

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.cli.stores import opened_store
from pipeline.results.filters import SegmentFilters
from tests.api.cli.conftest import Run
from tests.api.cli.owners import owned_by_another_process

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("visitors", "unchanged"),
    [("60000", "keep_running"), pytest.param("200000", "review", marks=pytest.mark.long(seconds=30))],
)
def test_the_demo_ships_the_winner_sees_no_difference_and_catches_the_broken_split(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visitors: str, unchanged: str
) -> None:
    ran = run("demo", "--data-dir", tmp_path / "demo", "--visitors", visitors, "--no-serve")
    # A demo never touches the catalog of another store.
    monkeypatch.delenv("TRUELIFT_CATALOG_URL", raising=False)
    assert ran.status == 0
    with opened_store(tmp_path / "demo") as store:
        (project,) = store.catalog.projects.all()
        reports = [
            store.results.report(experiment, project, SegmentFilters(), now=datetime.now(UTC))
            for experiment in store.catalog.experiments.of_project(project.id)
        ]
        kept = {one.experiment.name: store.catalog.kept_verdicts.find(one.experiment.id) for one in reports}
        looks = [len(store.catalog.recorded_looks.times(one.experiment.id)) for one in reports]
    verdicts = {
        report.experiment.name: report.primary.decision.recommendation for report in reports if report.primary
    }
    assert verdicts == {
        "One-page checkout": "ship",
        "Free-shipping banner": unchanged,
        "Larger product gallery": "fix_data",
        "Coupon field hidden": "review",
        "Reviews above the fold": "keep_running",
    }
    # The truth is a lift of 12%: the interval must hold it.
    (winner,) = (report for report in reports if report.experiment.name == "One-page checkout")
    checkout = winner.goals[0].variants[1].improvement_interval
    assert checkout is not None
    assert checkout.low is not None
    assert checkout.high is not None
    assert checkout.low < 0.12 < checkout.high
    # It was looked at on the way, and its verdict holds since a day of the past.
    assert max(looks) >= 9
    ship = kept["One-page checkout"]
    assert ship is not None
    assert timedelta(days=2) < datetime.now(UTC) - ship.since < timedelta(days=28)
    (ended,) = (one.experiment for one in reports if one.experiment.conclusion)
    assert ended.completed_at is not None
    assert (datetime.now(UTC) - ended.completed_at).days in {11, 12}


def test_the_demo_never_empties_a_folder_that_it_did_not_fill(run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me")
    ran = run("demo", "--data-dir", tmp_path, "--no-serve")
    assert ran.status == 1
    assert (tmp_path / "precious.txt").read_text() == "keep me"


def test_a_second_demo_leaves_a_running_one_alone_and_a_later_replaces_it(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    small = ("demo", "--data-dir", folder, "--visitors", "1000", "--no-serve")
    assert run(*small).status == 0
    with owned_by_another_process(folder):
        before = {path.name for path in folder.iterdir()}
        ran = run(*small)
        assert (ran.status, "is in use by process" in ran.err) == (1, True)
        assert {path.name for path in folder.iterdir()} == before
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = run(*small[:-1], "--port", str(taken.getsockname()[1]))
        assert (ran.status, "the port is in use" in ran.err, "Serving" in ran.out) == (1, True, False)
        assert (folder / "warehouse.duckdb").exists()
    first = (folder / "catalog.sqlite3").read_bytes()
    assert run(*small).status == 0
    assert (folder / "catalog.sqlite3").read_bytes() != first
