"""Command `erase`: the same with the service and without it, and never by mistake."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process

# Stores are copied with their catalog.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imported")


@pytest.fixture
def store(run: Run, tmp_path: Path, imported: Path) -> Path:
    """A store with an imported experiment of six visitors, which is made once."""
    folder, made = tmp_path / "store", imported / "store"
    if not made.exists():
        fill(run, made)
    return Path(shutil.copytree(made, folder))


def fill(run: Run, folder: Path) -> None:
    run("init", "--data-dir", folder, "--account", "Shop", "--email", "a@shop.example")
    visits = {
        "id": [f"v{number}" for number in range(6)],
        "page": ["A", "B"] * 3,
        "bought": [1, 0, 0, 1, 1, 0],
    }
    pl.DataFrame(visits).write_csv(folder.parent / "visits.csv")
    columns = ("--variant", "page", "--control", "A", "--goal", "bought", "--visitor", "id")
    assert run("import", folder.parent / "visits.csv", "--data-dir", folder, *columns).status == 0


def test_a_visitor_is_erased_with_the_service_as_without(run: Run, store: Path) -> None:
    erase = ("erase", "--data-dir", store, "--yes")
    # An exposure each, and a conversion of those who bought.
    alone = run(*erase, "--visitor", "v0", "--json").json
    assert (alone["events"], alone["visitor_ids"], len(alone["recounted"])) == (2, 1, 1)
    with served_by_another_process(store):
        served = run(*erase, "--visitor", "v1", "--json").json
        told = run(*erase, "--visitor", "v3")
        nobody = run(*erase, "--user", "v2", "--json").json
    assert (served.keys(), served["events"]) == (alone.keys(), 1)
    assert told.status == 0
    assert "Erased 2 events of 1 visitor ids and 0 user ids" in told.out
    assert nobody["events"] == 0
    report = run(
        "report", alone["recounted"][0], "--data-dir", store, "--format", "json", "--out", store / "r"
    )
    assert report.status == 0


def test_nothing_is_erased_unasked_or_without_one_id(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("erase", "--data-dir", store, "--yes").status == 2
    assert run("erase", "--data-dir", store, "--visitor", "v0", "--user", "u0", "--yes").status == 2
    # A byte that is no UTF-8, as the command line hands it over.
    assert "is not valid UTF-8" in run("erase", "--data-dir", store, "--visitor", "v\udcff", "--yes").err
    with (store.parent / "answer").open("w+") as answer:
        answer.write("n\n")
        answer.seek(0)
        monkeypatch.setattr("sys.stdin", answer)
        assert run("erase", "--data-dir", store, "--visitor", "v0").status == 1
    kept = run("erase", "--data-dir", store, "--visitor", "v0", "--yes", "--json")
    assert kept.json["events"] == 2


def test_the_project_is_named_where_there_are_several(run: Run, store: Path) -> None:
    unknown = run("erase", "--data-dir", store, "--visitor", "v0", "--project", "prj_x", "--yes")
    assert (unknown.status, "prj_x" in unknown.err) == (1, True)


def test_a_restored_backup_erases_who_was_erased_since(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("backup", tmp_path / "backup", "--data-dir", store).status == 0
    assert run("erase", "--data-dir", store, "--yes", "--visitor", "v0").status == 0
    restore = ("restore", tmp_path / "backup", "--data-dir")
    told = run(*restore, tmp_path / "restored", "--erasures", store)
    assert "Erased once more: 1 persons." in told.out
    assert (
        run("erase", "--data-dir", tmp_path / "restored", "--yes", "--visitor", "v0", "--json").json["events"]
        == 0
    )
    again = run(*restore, tmp_path / "another", "--erasures", tmp_path / "restored", "--json").json
    assert again["erased"] == 1
    assert run(*restore, tmp_path / "none", "--erasures", tmp_path / "missing").status == 2
