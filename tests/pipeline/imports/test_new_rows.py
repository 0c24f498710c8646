"""Rows that an earlier import stored are known again, in every way that files come back."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.clock import utc_now
from pipeline.events.hashing import hash64
from pipeline.sources import tables
from pipeline.store.warehouse import events
from tests.builders import STARTED
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.imports.visitor_files import Row, import_files, totals, write_rows
from tests.pipeline.working_store import WorkingStore, a_working_store, an_event, an_exposure

ROOT = Path(__file__).parents[3]
ROWS = [Row(f"v{i}", "AB"[i % 2], 1 + i % 9, int(i % 3 == 0), (i * 37 % 41) + 0.25) for i in range(40)]
OTHERS = [Row(f"w{i}", "AB"[i % 2], 1 + i % 9, int(i % 4 == 0), (i * 37 % 41) + 0.25) for i in range(30)]
ANONYMOUS: dict[str, Any] = {"visitor": None}


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def visitors(store: WorkingStore, project: Project) -> int:
    return sum(arm[0] for arm in totals(store, project)["bought"].values())


def test_equal_rows_are_numbered_across_chunks(
    tmp_path: Path, store: WorkingStore, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = Row("v1", "A", 1, 1, 10.0)
    rows = [order] * 7 + [Row("v2", "B", 1, 0, 0.0)]
    monkeypatch.setattr(tables, "CHUNK_ROWS", 3)
    assert import_files(store, project, write_rows(tmp_path / "a.csv", rows)).rows == 8
    assert totals(store, project)["spend"]["A"] == (1, 1, 7_000)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 5)
    again = import_files(store, project, write_rows(tmp_path / "b.csv", [*rows, order]))
    assert (again.rows, again.known_rows) == (1, 8)
    assert totals(store, project)["spend"]["A"] == (1, 1, 8_000)


def test_a_corrected_row_counts_beside_the_first_and_is_reported(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    import_files(store, project, write_rows(tmp_path / "a.csv", ROWS))
    before = totals(store, project)["spend"]["A"][2]
    corrected = [ROWS[0]._replace(spend=100.0), *ROWS[1:]]
    result = import_files(store, project, write_rows(tmp_path / "b.csv", corrected))
    assert (result.rows, result.known_rows, result.returning_rows) == (1, len(ROWS) - 1, 1)
    assert totals(store, project)["spend"]["A"][2] == (before or 0) + 10_000


def test_files_without_visitor_ids_are_apart_and_each_is_known_again(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    first, second = write_rows(tmp_path / "a.csv", ROWS), write_rows(tmp_path / "b.csv", OTHERS)
    grown = write_rows(tmp_path / "c.csv", [*ROWS, *OTHERS[:5]])
    shuffled = write_rows(tmp_path / "d.csv", ROWS[::2] + ROWS[1::2])
    new = [import_files(store, project, path, **ANONYMOUS).rows for path in (first, second, first, shuffled)]
    assert new == [40, 30, 0, 0]
    assert [import_files(store, project, path, **ANONYMOUS).rows for path in (grown, grown, first)] == [
        5,
        0,
        0,
    ]
    assert visitors(store, project) == 75
    assert import_files(store, project, first, second, **ANONYMOUS).rows == 0


def test_rows_without_a_time_are_known_on_another_day(
    tmp_path: Path, store: WorkingStore, project: Project
) -> None:
    path = write_rows(tmp_path / "a.csv", ROWS)
    for _ in range(2):
        import_files(store, project, path, timestamp=None)
    assert visitors(store, project) == len(ROWS)
    assert sum(count_by_type(store.warehouse, project.id).values()) == len(ROWS) * 2 + 14


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from pipeline.sources import tables
    from pipeline.store.warehouse import events
    from tests.pipeline.imports.visitor_files import import_files
    from tests.pipeline.working_store import a_working_store
    tables.CHUNK_ROWS = 10
    import pipeline.ingest.ingest as ingest
    commits = []
    write_now = ingest.Ingest.write_now
    def counted(self, project_id, table):
        write_now(self, project_id, table)
        commits.append(1)
        if len(commits) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    ingest.Ingest.write_now = counted
    folder, visitor = Path(sys.argv[1]), sys.argv[2] or None
    with a_working_store(folder / "store") as store:
        import_files(store, store.catalog.projects.all()[0], folder / "a.csv", visitor=visitor)
"""


@pytest.mark.parametrize(
    "visitor",
    ["who", pytest.param("", marks=pytest.mark.long(seconds=3))],
    ids=["visitor ids", "no visitor ids"],
)
def test_an_import_that_was_killed_goes_on_without_loss_or_repeat(tmp_path: Path, visitor: str) -> None:
    path = write_rows(tmp_path / "a.csv", ROWS)
    with a_working_store(tmp_path / "store") as store:
        project = store.add_project()
    command = [sys.executable, "-c", dedent(KILLED), str(tmp_path), visitor]
    ran = subprocess.run(command, cwd=ROOT, check=False)
    assert ran.returncode == -signal.SIGKILL
    with a_working_store(tmp_path / "store") as store:
        assert count_by_type(store.warehouse, project.id)["exposure"] == 20
        result = import_files(store, project, path, visitor=visitor or None)
        assert (result.rows, result.known_rows) == (20, 20)
        assert visitors(store, project) == len(ROWS)
        assert totals(store, project)["spend"]["A"][2] == round(100 * sum(row.spend for row in ROWS[::2]))


def write_as_version_0_1(
    store: WorkingStore, experiment: Experiment, rows: list[Row], *, is_anonymous: bool
) -> None:
    """Store rows as version 0.1 did: with ids of the line, also for a missing visitor id."""
    bought, spend = experiment.goals
    received_at = epoch_microseconds(utc_now())
    written = []
    for line, row in enumerate(rows, 2):
        visitor = f"row-{line}" if is_anonymous else row.who
        at = epoch_microseconds(STARTED.replace(year=2026, month=10, day=row.day, hour=10, minute=0))
        variant = next(i for i, one in enumerate(experiment.variants) if one.name == row.arm)
        written.append(
            an_exposure(
                experiment,
                variant,
                visitor,
                event_id=f"{experiment.id}-x-{line}",
                occurred_at=at,
                received_at=received_at,
            )
        )
        cents = round(row.spend * 100)
        for goal, amount, is_given in ((bought, None, row.bought), (spend, abs(cents), cents)):
            if is_given:
                event_id = f"{experiment.id}-{goal.id}-{line}"
                written.append(
                    an_event(
                        "conversion",
                        visitor,
                        event_id=event_id,
                        event_key=hash64(event_id),
                        goal_id=goal.id,
                        revenue_cents=amount,
                        is_refund=cents < 0 and goal is spend,
                        occurred_at=at,
                        received_at=received_at,
                    )
                )
    store.ingest.write_now(experiment.project_id, events.to_batch(written))


@pytest.mark.parametrize(
    "columns",
    [pytest.param({}, marks=pytest.mark.long(seconds=2)), ANONYMOUS],
    ids=["visitor ids", "no visitor ids"],
)
def test_rows_that_version_0_1_stored_by_line_are_known_by_content(
    tmp_path: Path, store: WorkingStore, project: Project, columns: dict[str, Any]
) -> None:
    # An empty experiment, of a file whose rows are removed again.
    import_files(store, project, write_rows(tmp_path / "a.csv", ROWS), **columns)
    (experiment,) = store.catalog.experiments.of_project(project.id)
    expected = totals(store, project)
    store.ingest.forget(project.id)
    write_as_version_0_1(store, experiment, ROWS, is_anonymous=bool(columns))
    store.rollup.rebuild(project.id)
    assert totals(store, project) == expected
    shuffled = write_rows(tmp_path / "b.csv", ROWS[::-1])
    for path in (tmp_path / "a.csv", shuffled):
        again = import_files(store, project, path, **columns)
        assert (again.rows, again.known_rows) == (0, len(ROWS))
    assert totals(store, project) == expected
    grown = write_rows(tmp_path / "c.csv", [*ROWS, *OTHERS])
    assert [import_files(store, project, grown, **columns).rows for _ in range(2)] == [len(OTHERS), 0]
    assert visitors(store, project) == len(ROWS) + len(OTHERS)
