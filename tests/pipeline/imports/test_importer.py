from pathlib import Path

import pytest

from engine.design.project import Project
from pipeline.imports.import_result import Imported
from pipeline.imports.importer import import_visitors
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import UnreadableSourceError
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.working_store import WorkingStore

CSV = "visitor,arm,bought\nv1,A,1\nv2,B,0\nv3,B,maybe\n"


def import_csv(path: Path, store: WorkingStore, project: Project, *, control: str = "A") -> Imported:
    columns = VisitorColumns(variant="arm", goals={"bought": "custom_event"}, visitor="visitor")
    files = VisitorTables(tables=find_tables([str(path)]), columns=columns, name="Checkout", control=control)
    return import_visitors(files, project, store=store)


def test_visitors_become_a_running_experiment_with_events(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    path = tmp_path / "visitors.csv"
    path.write_text(CSV)
    imported = import_csv(path, store, project)
    assert imported.experiment is not None
    assert (imported.experiment.status, imported.experiment.variants[0].name) == ("running", "A")
    assert (imported.rows, imported.events) == (2, 3)
    assert [(bad.line, bad.reason) for bad in imported.bad_rows] == [(4, "'bought' is neither 1 nor 0")]
    assert count_by_type(store.warehouse, project.id) == {"conversion": 1, "exposure": 2}


def test_a_repeated_import_finds_the_experiment_again(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    path = tmp_path / "visitors.csv"
    path.write_text(CSV)
    first, second = (import_csv(path, store, project).experiment for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.id == second.id
    assert store.observe(first, project).visitors.tolist() == [1, 1]


def test_nothing_is_stored_of_a_file_without_the_control(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    path = tmp_path / "visitors.csv"
    path.write_text(CSV)
    with pytest.raises(UnreadableSourceError, match="no row of 'arm' is the control 'C'"):
        import_csv(path, store, project, control="C")
    assert store.catalog.experiments.of_project(project.id) == []
    assert store.ingest.last_seq_of(project.id) == 0
