"""Looks that jobs record while an import is under way, and after it was killed: those without any job."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.running_time import running_days
from pipeline.clock import utc_now
from pipeline.imports.visitor_rows import VisitorColumns
from pipeline.jobs.look_recording import record_looks
from pipeline.runs.command_imports import FilesToImport
from pipeline.runs.import_work import import_files, report_of
from pipeline.sources import tables
from pipeline.sources.locations import find_tables
from tests.pipeline.working_store import WorkingStore, a_working_store

VISITORS = 2_000
DAYS = 8
REPOSITORY = Path(__file__).parents[3]
# Ends the process as a kill does, after the write of that kind with that number.
KILLED = """
import os, sys
from pathlib import Path
from pipeline.clock import utc_now
from pipeline.sources import tables
from tests.pipeline.working_store import a_working_store
from tests.pipeline.runs.test_import_looks import after_each_write, import_and_judge
folder, fatal, running = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "running"
tables.CHUNK_ROWS = 500
with a_working_store(folder / "store", clock=utc_now) as store:
    (project,) = store.catalog.projects.all()
    writes = []
    def die(kind):
        writes.append(kind)
        if f"{kind} {writes.count(kind)}" == fatal:
            os._exit(9)
    after_each_write(store, die)
    import_and_judge(store, project, folder / "visits.csv", running=running)
"""


def write(path: Path, *, begun: datetime, visitors: int = VISITORS, days: float = DAYS) -> Path:
    random = np.random.default_rng(1)
    times = [begun + timedelta(days=days * one / visitors) for one in range(visitors)]
    pl.DataFrame(
        {
            "id": [f"v{begun:%j}{one}" for one in range(visitors)],
            "page": ["A", "B"] * (visitors // 2),
            "bought": (random.random(visitors) < 0.1).astype(int),
            "at": [f"{time:%Y-%m-%d %H:%M:%S}" for time in times],
        }
    ).write_csv(path)
    return path


def import_and_judge(store: WorkingStore, project: Project, path: Path, *, running: bool) -> Any:
    columns = VisitorColumns(
        variant="page", goals={"bought": "custom_event"}, visitor="id", timestamp="at", segments=()
    )
    asked = FilesToImport(
        locations=(str(path),), query=None, columns=columns, name="Visits", control="A", running=running
    )
    found = find_tables(asked.locations, query=None)
    imported = import_files(store, project, found, asked, lambda _stage, _done: None)
    store.rollup.refresh(project.id)
    assert imported.experiment is not None
    return report_of(store, imported.experiment, project, running=running)


def after_each_write(store: WorkingStore, act: Callable[[str], None]) -> None:
    """Act after each `change` of an experiment, and after each `batch` of events."""
    experiments, ingest = store.catalog.experiments, store.ingest
    change, write_now = experiments.change, ingest.write_now

    def change_and_act(*args: Any, **named: Any) -> Any:
        changed = change(*args, **named)
        act("change")
        return changed

    def write_and_act(*args: Any) -> Any:
        write_now(*args)
        act("batch")

    experiments.change, ingest.write_now = change_and_act, write_and_act  # type: ignore[method-assign, assignment]


def a_tick(store: WorkingStore, _written: str = "") -> None:
    record_looks(store.catalog, store.due_looks, now=utc_now())


def days_of(look: RecordedLook) -> float:
    return round(look.running_days or 0, 2)


def experiment_of(store: WorkingStore, project: Project) -> Experiment:
    (experiment,) = store.catalog.experiments.of_project(project.id)
    return experiment


def verdict(store: WorkingStore, project: Project) -> tuple[Any, ...]:
    """Return the looks at the plan, the running days and the action."""
    experiment = experiment_of(store, project)
    now = utc_now()
    report = store.results.report(experiment, project, now=now)
    looks = store.catalog.recorded_looks.of(experiment.id)
    return (
        [(days_of(one), one.recommendation) for one in looks if one.is_at_plan],
        max((days_of(one) for one in looks), default=0),
        round(running_days(experiment, until=now), 2),
        [
            (one.decision.recommendation, one.decision.headline, one.decision.explanation)
            for one in report.goals
        ],
    )


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 500)


@pytest.mark.parametrize("kind", ["running", pytest.param("finished", marks=pytest.mark.long(seconds=3))])
def test_a_job_at_any_moment_of_an_import_changes_no_verdict(tmp_path: Path, kind: str) -> None:
    first = write(tmp_path / "first.csv", begun=utc_now() - timedelta(days=100))
    verdicts = []
    for name, ticks in (("alone", False), ("ticked", True)):
        with a_working_store(tmp_path / name, clock=utc_now) as store:
            project = store.add_project()
            if ticks:
                after_each_write(store, partial(a_tick, store))
            import_and_judge(store, project, first, running=kind == "running")
            verdicts.append(verdict(store, project))
    alone, ticked = verdicts
    assert ticked == alone
    assert alone[1:3] == (DAYS, DAYS)


@pytest.mark.long(seconds=5)
def test_a_job_while_later_rows_are_imported_counts_no_day_since_the_earlier_ones(tmp_path: Path) -> None:
    begun = utc_now() - timedelta(days=100)
    first = write(tmp_path / "first.csv", begun=begun)
    later = write(tmp_path / "later.csv", begun=begun + timedelta(days=DAYS))
    verdicts = []
    for name, ticks in (("alone", False), ("ticked", True)):
        with a_working_store(tmp_path / name, clock=utc_now) as store:
            project = store.add_project()
            import_and_judge(store, project, first, running=True)
            experiment = experiment_of(store, project)
            # As if the first file had been imported 80 days ago.
            (pause,) = experiment.pauses
            store.change(experiment, pauses=(replace(pause, ended_at=utc_now() - timedelta(days=80)),))
            if ticks:
                after_each_write(store, partial(a_tick, store))
            import_and_judge(store, project, later, running=True)
            verdicts.append(verdict(store, project))
    alone, ticked = verdicts
    assert ticked == alone
    assert alone[1:3] == (2 * DAYS, 2 * DAYS)


# The first change is the start, after all rows.
@pytest.mark.parametrize(
    ("kind", "fatal"),
    [
        ("running", "change 1"),
        pytest.param("running", "batch 2", marks=pytest.mark.long(seconds=12)),
        pytest.param("finished", "change 1", marks=pytest.mark.long(seconds=12)),
    ],
)
def test_a_killed_import_leaves_no_verdict_and_is_completed_by_the_same_one(
    tmp_path: Path, kind: str, fatal: str
) -> None:
    is_running = kind == "running"
    path = write(tmp_path / "visits.csv", begun=utc_now() - timedelta(days=100))
    with a_working_store(tmp_path / "alone", clock=utc_now) as store:
        project = store.add_project()
        import_and_judge(store, project, path, running=is_running)
        alone = verdict(store, project)
    with a_working_store(tmp_path / "store", clock=utc_now) as store:
        store.add_project()
    command = [sys.executable, "-c", KILLED, str(tmp_path), fatal, kind]
    assert subprocess.run(command, cwd=REPOSITORY, check=False).returncode == 9
    with a_working_store(tmp_path / "store", clock=utc_now) as store:
        (project,) = store.catalog.projects.all()
        a_tick(store)
        experiment = experiment_of(store, project)
        looks = store.catalog.recorded_looks.of(experiment.id)
        assert not any(one.is_at_plan for one in looks)
        assert experiment.status == ("draft" if fatal == "batch 2" else "running")
        assert all(days_of(one) == DAYS for one in looks)
        import_and_judge(store, project, path, running=is_running)
        assert verdict(store, project) == alone
