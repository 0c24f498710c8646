"""Imports of a command that owns the store are runs of their projects."""

from pathlib import Path

import polars as pl
import pytest

from engine.design.project import Project
from pipeline.runs.command_imports import FilesToImport
from pipeline.runs.own_imports import import_own_files, import_own_source
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.sources.definition_files import read_definition
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.catalog.runs.run_record import Run
from tests.builders import a_project
from tests.pipeline.imports.described_sources import ORDERS, describe
from tests.pipeline.working_store import WorkingStore

EVENTS = FilesToImport(
    locations=(), query=None, columns=None, name="events", control="", running=False, max_bad_share=1.0
)


def write_orders(folder: Path, number: int) -> Path:
    rows = [
        {"id": f"o{i}", "who": f"v{i}", "at": "2026-03-02", "paid": 5.0, "order_number": f"n{i}"}
        for i in range(number)
    ]
    pl.DataFrame(rows).write_parquet(folder / "orders.parquet")
    return describe(folder, "orders", ORDERS)


def runs_of(store: WorkingStore, project: Project) -> list[Run]:
    return list(store.catalog.runs.page(project.id).items)


def test_an_import_is_a_run_with_its_numbers(tmp_path: Path, store: WorkingStore, project: Project) -> None:
    described = read_definition(write_orders(tmp_path, 3))
    found = import_own_source(store, project, described, lambda _stage, _done: None)
    (run,) = runs_of(store, project)
    assert (run.kind, run.trigger, run.status, run.events) == ("import", "command_line", "done", 3)
    assert (run.parameters, run.result["rows"]["new"]) == ({"source": "orders"}, 3)
    assert found.imported.events == 3

    columns, row = "type,visitor_id,timestamp,event_name", "custom_event,v1,2026-03-03,order"
    (tmp_path / "more.csv").write_text(f"{columns}\n{row}\n")
    tables = find_tables([str(tmp_path / "more.csv")])
    import_own_files(store, project, tables, EVENTS, lambda _stage, _done: None)
    # Both are of the same time.
    (second,) = (one for one in runs_of(store, project) if one.id != run.id)
    assert (second.parameters, second.events) == ({"source": "more.csv"}, 1)


def test_a_refused_import_is_a_failed_run(tmp_path: Path, store: WorkingStore, project: Project) -> None:
    described = write_orders(tmp_path, 3)
    (tmp_path / "orders.parquet").unlink()
    with pytest.raises(UnreadableSourceError):
        import_own_source(store, project, read_definition(described), lambda _stage, _done: None)
    (run,) = runs_of(store, project)
    assert (run.status, run.result) == ("failed", {})
    assert run.error is not None
    assert "orders.parquet" in run.error


def test_an_interrupted_import_is_marked_at_the_next_start(tmp_path: Path) -> None:
    described = read_definition(write_orders(tmp_path, 3))
    settings = Settings(data_dir=tmp_path / "store")

    def interrupt(_stage: str, _done: int) -> None:
        raise KeyboardInterrupt

    with open_pipeline(settings) as store:
        account, _, _ = store.catalog.accounts.create("Acme", "owner@acme.example", "scale")
        project = store.catalog.projects.create(a_project(account_id=account.id), actor="test")
        with pytest.raises(KeyboardInterrupt):
            import_own_source(store, project, described, interrupt)
    with open_pipeline(settings) as store:
        (run,) = store.catalog.runs.page(project.id).items
        assert run.status == "interrupted"
        import_own_source(store, project, described, lambda _stage, _done: None)
        assert [one.status for one in store.catalog.runs.page(project.id).items] == ["done", "interrupted"]
