"""Commands `rollup --engine` and `load`."""

from pathlib import Path

import pytest

from tests.api.cli.conftest import Run
from tests.pipeline.working_store import a_purchase, a_working_store, an_exposure


@pytest.mark.parametrize(
    "engine",
    [
        ("--engine", "local", "--workers", "1"),
        pytest.param(("--engine", "spark", "--master", "local[1]"), marks=pytest.mark.long(seconds=47)),
    ],
)
def test_a_snapshot_is_counted_and_loaded(run: Run, tmp_path: Path, engine: tuple[str, ...]) -> None:
    with a_working_store(tmp_path / "store") as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment, 0, "v1"), an_exposure(experiment, 1, "v2"))
        store.write(project, a_purchase("v2", minute=1))
        store.snapshots.write(project.id)
    ran = run(
        *("rollup", *engine, "--parts", "1"),
        *("--data-dir", tmp_path / "store", "--project", project.id),
        *("--input", tmp_path / "store" / "snapshots" / project.id, "--output", tmp_path / "out"),
    )
    assert ran.status == 0, ran.err
    assert "3 events counted to 2 visitor rows in" in ran.out
    ran = run("load", tmp_path / "out", "--data-dir", tmp_path / "store")
    assert (ran.status, ran.err) == (0, "")
    assert "1 experiments published" in ran.out
    with a_working_store(tmp_path / "store") as store:
        assert store.observe(experiment, project).visitors.tolist() == [1, 1]
        assert store.rollup.rebuild(project.id).drifted == ()


def test_options_that_do_not_fit_are_refused(run: Run, tmp_path: Path) -> None:
    files = ["--project", "prj", "--input", "in", "--output", "out"]
    for options, said in (
        (["--workers", "2"], "are for --engine only"),
        (["--engine", "local", "--full"], "--full, --night and --json are not for --engine"),
        (["--engine", "local"], "--engine needs --project, --input and --output"),
        (["--master", "local[2]"], "are for --engine only"),
        (["--engine", "spark", *files], "--engine spark needs --master"),
        (["--engine", "local", "--master", "local[2]", *files], "which is of no other engine"),
        (["--engine", "spark", "--master", "local[2]", "--workers", "2", *files], "are for --engine local"),
    ):
        ran = run("rollup", "--data-dir", tmp_path, *options)
        assert ran.status == 1
        assert said in " ".join(ran.err.split())


def test_a_folder_that_is_no_output_is_refused(run: Run, tmp_path: Path) -> None:
    with a_working_store(tmp_path / "store"):
        pass
    ran = run("load", tmp_path, "--data-dir", tmp_path / "store")
    assert ran.status == 1
    assert "there is no finished rollup in" in " ".join(ran.err.split())
