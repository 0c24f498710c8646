from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.design.project import Project
from engine.design.units import AttributeUnit
from engine.frames.analyze import analyze_frame
from pipeline.imports.import_result import Imported
from pipeline.imports.importer import import_visitors
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import UnreadableSourceError
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.imports.visitor_files import import_files
from tests.pipeline.working_store import WorkingStore

CSV = "visitor,arm,bought\nv1,A,1\nv2,B,0\nv3,B,maybe\n"


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


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
    assert [(bad.line, bad.reason) for bad in imported.bad_rows] == [
        (4, "'bought' is neither 1 nor 0 (true or false, yes or no)")
    ]
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


@pytest.mark.parametrize("visitor", ["who", None], ids=["with ids", "without"])
def test_a_table_with_accounts_is_analysed_by_account(
    tmp_path: Path, store: WorkingStore, project: Project, visitor: str | None
) -> None:
    # Accounts of 3 to 7 visitors; in an Arrow table with a missing one whole numbers become floats.
    rows = [
        {"who": f"v{account}-{number}", "arm": "AB"[account % 2], "account": float(account), "bought": bought}
        for account in range(30)
        for number in range(3 + account % 5)
        for bought in [int((account * 7 + number) % 4 == 0)]
    ]
    frame = pl.DataFrame(rows)
    path = tmp_path / "accounts.parquet"
    frame[:40].write_parquet(path)
    options: dict[str, Any] = {
        "visitor": visitor,
        "timestamp": None,
        "goals": {"bought": "custom_event"},
        "unit": "account",
    }
    import_files(store, project, path, **options)
    # The same rows again, in another order, and the rest.
    frame[::-1].write_parquet(path)
    imported = import_files(store, project, path, **options)
    assert (imported.rows, imported.known_rows) == (frame.height - 40, 40)
    assert imported.experiment is not None
    assert imported.experiment.unit == AttributeUnit(attribute="account")
    store.rollup.refresh(project.id)
    report = store.results.report(imported.experiment, project, now=datetime.now(UTC), is_finished=True)
    wanted = analyze_frame(frame, variant="arm", control="A", goals=["bought"], cluster="account")
    for found, expected in zip(report.goals[0].variants, wanted.goals[0].variants, strict=True):
        assert (found.visitors, found.conversions, found.clusters) == (
            *(expected.visitors, expected.conversions, expected.clusters),
        )
        assert found.p_value == (None if expected.p_value is None else pytest.approx(expected.p_value))
    frame.with_columns(account=pl.lit(None, pl.Float64)).write_parquet(path)
    with pytest.raises(UnreadableSourceError, match="has no usable id in 'account'"):
        import_files(store, project, path, **options)
