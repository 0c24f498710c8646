"""Commands `backup` and `restore`: with the service as without it."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.api.cli.conftest import Run
from tests.api.cli.services import served_by_another_process


@pytest.fixture
def data_dir(run: Run, tmp_path: Path) -> Path:
    """A store with an imported experiment."""
    run("init", "--data-dir", tmp_path / "store", "--account", "Shop", "--email", "a@shop.example")
    pl.DataFrame({"page": ["A", "B"] * 50, "bought": [1, 0, 0, 1] * 25}).write_csv(tmp_path / "visits.csv")
    columns = ("--variant", "page", "--control", "A", "--goal", "bought")
    assert run("import", tmp_path / "visits.csv", "--data-dir", tmp_path / "store", *columns).status == 0
    return tmp_path / "store"


@pytest.fixture
def take_new_catalog(
    monkeypatch: pytest.MonkeyPatch, new_catalog_url: Callable[[], str | None]
) -> Callable[[], None]:
    """Return a function that sets the URL of another empty catalog, where one is on a server."""

    def take() -> None:
        url = new_catalog_url()
        if url is not None:
            monkeypatch.setenv("TRUELIFT_CATALOG_URL", url)

    return take


def test_the_service_writes_the_backup_and_goes_on(
    run: Run, data_dir: Path, tmp_path: Path, take_new_catalog: Callable[[], None]
) -> None:
    with served_by_another_process(data_dir) as service:
        written = run("backup", tmp_path / "there", "--data-dir", data_dir, "--with-snapshots", "--json")
        assert (written.status, written.json["has_secrets_key"]) == (0, True)
        again = run("backup", tmp_path / "there", "--data-dir", data_dir)
        assert (again.status, "holds something already" in again.err) == (1, True)
        assert service.poll() is None
    here = run("backup", tmp_path / "here", "--data-dir", data_dir, "--json")
    assert here.json["last_seq"] == written.json["last_seq"] > 0
    take_new_catalog()
    restored = run("restore", tmp_path / "there", "--data-dir", tmp_path / "restored")
    assert (restored.status, "Restored into" in restored.out) == (0, True)
    assert run("check", "--data-dir", tmp_path / "restored").status == 0
    assert "up to date already" in run("rollup", "--data-dir", tmp_path / "restored").out


def test_failures_are_one_sentence(run: Run, data_dir: Path, tmp_path: Path) -> None:
    nothing = run("backup", tmp_path / "backup", "--data-dir", tmp_path / "nowhere")
    assert (nothing.status, "there is no store" in nothing.err) == (1, True)
    missing = run("restore", tmp_path / "backup", "--data-dir", tmp_path / "restored")
    assert (missing.status, "no whole backup" in missing.err) == (1, True)
    run("backup", tmp_path / "backup", "--data-dir", data_dir)
    used = run("restore", tmp_path / "backup", "--data-dir", data_dir)
    assert (used.status, "restored into an empty folder" in " ".join(used.err.split())) == (1, True)
