"""The experiment of a file: found again, or refused with the way out."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.imports.imported_experiment import ImportRefusedError, run_from_first_to_last_visitor
from pipeline.sources.tables import UnreadableSourceError
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.imports.visitor_files import Row, import_files, report_of, write_rows
from tests.pipeline.working_store import WorkingStore

LATE = [Row("v1", "A", 8, 1, 2.0), Row("v2", "B", 9, 0, 0.0)]
EARLY = [Row("v3", "A", 2, 0, 1.0), Row("v4", "B", 3, 1, 0.0)]


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def test_an_earlier_visitor_of_a_later_file_moves_the_start_back(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    for name, rows in (("late", LATE), ("early", EARLY), ("late", LATE)):
        import_files(store, project, write_rows(tmp_path / f"{name}.csv", rows))
    (experiment,) = store.catalog.experiments.of_project(project.id)
    assert experiment.started_at is not None
    assert experiment.started_at.day == 2
    days = report_of(store, project).goals[0].days
    assert sum(result.visitors for _, by_variant in days for result in by_variant.values()) == 4


def test_a_file_of_some_variants_goes_into_the_experiment_that_has_them(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    import_files(store, project, write_rows(tmp_path / "both.csv", LATE))
    import_files(store, project, write_rows(tmp_path / "one.csv", EARLY[1:]))
    assert len(store.catalog.experiments.of_project(project.id)) == 1
    assert count_by_type(store.warehouse, project.id)["exposure"] == 3
    with pytest.raises(ImportRefusedError, match="has the control 'A'; give --control A"):
        import_files(store, project, tmp_path / "both.csv", control="B")


def test_without_an_experiment_a_file_needs_the_control(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    with pytest.raises(UnreadableSourceError, match="no row of 'arm' is the control 'A'; it has B"):
        import_files(store, project, write_rows(tmp_path / "one.csv", EARLY[1:]))
    assert store.catalog.experiments.of_project(project.id) == []


def test_a_file_of_the_control_alone_drafts_nothing(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    with pytest.raises(ImportRefusedError, match="all rows of 'arm' are the control 'A'; import them once"):
        import_files(store, project, write_rows(tmp_path / "one.csv", LATE[:1]))
    assert store.catalog.experiments.of_project(project.id) == []
    assert count_by_type(store.warehouse, project.id) == {}


def test_an_earlier_row_does_not_move_the_start_of_a_completed_experiment(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    imported = import_files(store, project, write_rows(tmp_path / "late.csv", LATE)).experiment
    assert imported is not None
    ended = store.catalog.experiments.change(
        project.id, imported.id, partial(lifecycle.complete, now=utc_now()), actor="test"
    )
    assert ended.started_at is not None
    earlier = ended.started_at - timedelta(days=3)
    again = run_from_first_to_last_visitor(store.catalog, ended, first=earlier, last=ended.started_at)
    assert again == ended


@pytest.mark.parametrize("column", ["visitor", "timestamp"])
@pytest.mark.parametrize("comes_first", ["with", "without"])
def test_rows_that_could_not_be_known_again_are_refused(
    tmp_path: Path, store: WorkingStore, project: Project, column: str, comes_first: str
) -> None:
    path = write_rows(tmp_path / "a.csv", LATE)
    options: dict[str, dict[str, Any]] = {"with": {}, "without": {column: None}}
    import_files(store, project, path, **options.pop(comes_first))
    stored = store.ingest.last_seq_of(project.id)
    ((other, columns),) = options.items()
    with pytest.raises(ImportRefusedError, match=f"imported {comes_first} --{column}, and {other} it"):
        import_files(store, project, path, **columns)
    assert store.ingest.last_seq_of(project.id) == stored


@pytest.mark.parametrize("absent", ["visitor", "timestamp"])
def test_a_second_experiment_may_lack_what_the_first_one_has(
    tmp_path: Path, store: WorkingStore, project: Project, absent: str
) -> None:
    path = write_rows(tmp_path / "rows.csv", LATE)
    import_files(store, project, path)
    without: dict[str, Any] = {absent: None}
    second = import_files(store, project, path, name="Second", **without)
    assert (second.experiment.name if second.experiment else None, second.rows) == ("Second", 2)


def test_rows_of_a_completed_experiment_are_refused(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    path = write_rows(tmp_path / "a.csv", LATE)
    imported = import_files(store, project, path).experiment
    assert imported is not None
    store.catalog.experiments.change(
        project.id, imported.id, partial(lifecycle.complete, now=utc_now()), actor="test"
    )
    with pytest.raises(ImportRefusedError, match="'Test' is completed, so further rows would not count"):
        import_files(store, project, path)
