"""Commands `rollup --engine`, with and without a service that takes what is counted, and `load`."""

from pathlib import Path

import pytest

from api.cli.client.running_service import find_service
from api.cli.stores import opened_catalog
from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process
from tests.pipeline.working_store import a_purchase, a_working_store, an_exposure


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Experiment]:
    """A store with a snapshot of two visitors, one of whom bought, that its service has counted."""
    folder = tmp_path_factory.mktemp("shop") / "store"
    with a_working_store(folder, clock=utc_now) as store:
        project = store.add_project()
        experiment = store.add_experiment(project)
        store.write(project, an_exposure(experiment, 0, "v1"), an_exposure(experiment, 1, "v2"))
        store.write(project, a_purchase("v2", minute=1))
        store.rollup.refresh(project.id)
        store.snapshots.write(project.id)
    return folder, experiment


def counting(shop: tuple[Path, Experiment], output: Path, *options: str) -> list[object]:
    folder, experiment = shop
    project = experiment.project_id
    return [
        *("rollup", *options, "--parts", "1", "--data-dir", folder, "--project", project),
        *("--input", folder / "snapshots" / project, "--output", output),
    ]


def sums_from(shop: tuple[Path, Experiment]) -> list[int]:
    """Return the visitors of each variant, by sums from outside alone."""
    folder, experiment = shop
    with a_working_store(folder) as store:
        record = store.rollup.publications.find(experiment.id)
        assert record is not None
        assert record.sums_from == "truelift rollup --engine"
        project = store.catalog.projects.find(experiment.project_id)
        visitors: list[int] = store.observe(experiment, project).visitors.tolist()
        return visitors


def test_what_is_counted_is_handed_in_beside_the_service(
    run: Run, tmp_path: Path, shop: tuple[Path, Experiment], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, experiment = shop
    options = ("--engine", "local", "--workers", "1", "--publish")
    with served_by_another_process(folder):
        ran = run(*counting(shop, tmp_path / "out", *options))
        assert (ran.status, ran.err) == (0, "")
        assert "3 events counted to 2 visitor rows in" in ran.out
        # The service counts these events itself, and a new count is to take their place.
        assert f"{experiment.id}: left as it was, the service refuses this: visitors of" in ran.out
        assert "0 experiments published" in ran.out
        for _ in range(2):
            ran = run("load", tmp_path / "out", "--data-dir", folder, "--take-over")
            assert (ran.status, ran.err, ran.out) == (0, "", "1 experiments published\n")
        service = find_service(folder)
        assert service is not None
        with opened_catalog(folder) as catalog:
            account = catalog.projects.find(experiment.project_id).account_id
            token = service.client(catalog, account).token
        ran = run("load", tmp_path / "out", "--data-dir", folder, "--url", service.url)
        assert "--url needs an API key" in ran.err
        monkeypatch.setenv("TRUELIFT_API_KEY", token)
        ran = run("load", tmp_path / "out", "--data-dir", folder, "--url", service.url)
        assert (ran.status, ran.out) == (0, "1 experiments published\n")
    assert sums_from(shop) == [1, 1]


@pytest.mark.parametrize(
    "engine",
    [
        ("--engine", "local", "--workers", "1"),
        pytest.param(("--engine", "spark", "--master", "local[1]"), marks=pytest.mark.long(seconds=47)),
    ],
)
def test_without_a_service_the_store_takes_the_sums(
    run: Run, tmp_path: Path, shop: tuple[Path, Experiment], engine: tuple[str, ...]
) -> None:
    ran = run(*counting(shop, tmp_path / "out", *engine, "--publish", "--take-over"))
    assert ran.status == 0, ran.err
    assert "1 experiments published" in ran.out
    assert sums_from(shop) == [1, 1]


def test_options_that_do_not_fit_are_refused(run: Run, tmp_path: Path) -> None:
    files = ["--project", "prj", "--input", "in", "--output", "out"]
    for options, said in (
        (["--workers", "2"], "are for --engine only"),
        (["--engine", "local", "--full"], "--full, --night and --json are not for --engine"),
        (["--engine", "local"], "--engine needs --project, --output, and --input or --source"),
        (["--engine", "local", *files, "--source", "a.toml"], "--engine needs --project, --output, and"),
        (["--master", "local[2]"], "are for --engine only"),
        (["--publish"], "are for --engine only"),
        (["--engine", "local", *files, "--take-over"], "--url and --take-over are for --publish"),
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
