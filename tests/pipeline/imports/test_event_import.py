"""Files of events, imported once and again."""

from collections import Counter
from pathlib import Path

import pytest

from engine.design.project import Project
from pipeline.imports import event_import
from pipeline.imports.event_import import Stage, import_events
from pipeline.sources import tables
from pipeline.sources.locations import find_tables
from pipeline.store.warehouse import events
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.working_store import WorkingStore

HEADER = "event_id,type,visitor_id,url,timestamp\n"
PAGE = "pageview,v1,https://shop.example/,2001-01-01T00:00:00Z\n"
OTHER = "pageview,v2,https://shop.example/,\n"


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def a_file(folder: Path, *rows: str, name: str = "events.csv") -> Path:
    path = folder / name
    path.write_text(HEADER + "".join(rows))
    return path


def imported(store: WorkingStore, project: Project, *paths: Path) -> tuple[int, int]:
    """Import the files; return the numbers of new and of known events."""
    result = import_events(find_tables([str(path) for path in paths]), project, store=store)
    return result.events, result.known_events


def test_events_are_imported_at_any_age_and_rejected_by_line(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    bad = "e2,pageview,undefined,https://shop.example/,2001-01-01T00:00:00Z\n"
    path = a_file(tmp_path, f"e1,{PAGE}", bad)
    result = import_events(find_tables([str(path)]), project, store=store)
    assert (result.experiment, result.events, result.rejected) == (None, 1, 1)
    assert [(row.line, row.table) for row in result.bad_rows] == [(3, "events.csv")]
    assert result.bad_rows[0].reason.startswith("invalid_visitor_id")


def test_an_event_with_an_id_counts_once_however_often_it_comes(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    assert imported(store, project, a_file(tmp_path, f"e1,{PAGE}", f"e2,{PAGE}", f"e1,{PAGE}")) == (2, 1)
    assert imported(store, project, a_file(tmp_path, f"e3,{PAGE}", f"e2,{PAGE}")) == (1, 1)
    assert count_by_type(store.warehouse, project.id) == {"pageview": 3}


def test_equal_events_without_ids_count_within_a_command_and_are_repeats_in_a_later_one(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    one = a_file(tmp_path, f",{PAGE}", f",{PAGE}", f",{OTHER}", name="one.csv")
    two = a_file(tmp_path, f",{OTHER}", f",{PAGE}", name="two.csv")
    assert imported(store, project, one) == (3, 0)
    assert imported(store, project, two) == (0, 2)
    # Read as one, the files have one event of each kind more.
    assert imported(store, project, two, one) == (2, 3)
    assert imported(store, project, one, two) == (0, 5)


def test_events_are_stored_a_row_group_at_a_time_in_their_order(
    tmp_path: Path, store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 2)
    monkeypatch.setattr(event_import, "ROW_GROUP_ROWS", 3)
    names = ["e1", "e2", "e3", "e4", "e1", "e5", "e6"]
    path = a_file(tmp_path, *(f"{name},{PAGE}" for name in names))
    stages: list[Stage] = []
    result = import_events(
        find_tables([str(path)]), project, store=store, on_progress=lambda stage, _done: stages.append(stage)
    )
    assert (result.events, result.known_events) == (6, 1)
    # The file has four chunks of at most two rows, and three groups.
    assert Counter(stages) == {"reading": 4, "storing": 3}
    with store.warehouse.cursor() as cursor:
        query = f'SELECT event_id FROM "{events.table_name(project.id)}" ORDER BY seq'  # noqa: S608
        assert [name for (name,) in cursor.execute(query).fetchall()] == list(dict.fromkeys(names))
