"""Command `snapshot`, with the service running and without."""

from pathlib import Path

from pipeline.snapshots.reader import open_snapshot
from tests.api.cli.conftest import Run
from tests.api.cli.owners import owned_by_another_process
from tests.pipeline.snapshots_at_hand import assert_whole
from tests.pipeline.working_store import a_purchase, a_working_store, an_exposure


def a_store_in(folder: Path) -> str:
    """Store two visitors before any rollup; returns the id of their project."""
    with a_working_store(folder) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment, 0, "v1"), an_exposure(experiment, 1, "v2"))
        store.write(project, a_purchase("v2", minute=1))
    return project.id


def test_a_snapshot_is_brought_up_to_date_and_written(run: Run, tmp_path: Path) -> None:
    project_id = a_store_in(tmp_path)
    ran = run("snapshot", "--data-dir", tmp_path)
    assert (ran.status, ran.err) == (0, "")
    assert "Shop: 3 events and 1 experiment, " in ran.out
    assert_whole(tmp_path / "snapshots" / project_id)
    assert open_snapshot(tmp_path / "snapshots").visitors("Checkout button").collect().height == 2


def test_another_folder_can_be_named(run: Run, tmp_path: Path) -> None:
    project_id = a_store_in(tmp_path / "store")
    (taken,) = run("snapshot", "--data-dir", tmp_path / "store", "--out", tmp_path / "copy", "--json").json[
        "snapshots"
    ]
    assert (taken["project_id"], taken["events"], taken["experiments"]) == (project_id, 3, 1)
    assert taken["folder"] == str(tmp_path / "copy" / project_id)
    assert_whole(tmp_path / "copy" / project_id)
    assert not (tmp_path / "store" / "snapshots").exists()


def test_while_the_service_runs_it_says_where_its_snapshots_are(run: Run, tmp_path: Path) -> None:
    project_id = a_store_in(tmp_path)
    with owned_by_another_process(tmp_path):
        assert "none is there yet" in " ".join(run("snapshot", "--data-dir", tmp_path).err.split())
    assert run("snapshot", "--data-dir", tmp_path).status == 0
    taken = open_snapshot(tmp_path / "snapshots" / project_id).manifest.taken_at
    with owned_by_another_process(tmp_path):
        ran = run("snapshot", "--data-dir", tmp_path)
    assert ran.status == 1
    said = " ".join(ran.err.split())
    assert f"the newest is of {taken:%Y-%m-%d %H:%M:%S} UTC" in said
    assert "TRUELIFT_SNAPSHOT_SECONDS" in said


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    a_store_in(tmp_path / "store")
    (tmp_path / "taken").write_text("a file")
    ran = run("snapshot", "--data-dir", tmp_path / "store", "--out", tmp_path / "taken")
    assert ran.status == 1
    assert "no snapshot could be written into" in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
