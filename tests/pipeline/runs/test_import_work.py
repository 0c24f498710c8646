"""Import runs: interrupted by the end of the process, and gone on with at the next start."""

from pathlib import Path
from threading import Event

import polars as pl
import pytest

from engine.design.project import Project
from pipeline.disk_space import DiskFullError
from pipeline.imports.import_requests import FileOptions, SentFile, file_import, source_import
from pipeline.runs.command_imports import (
    CommandImport,
    CommandOutcome,
    SourceToImport,
    leave_import,
    read_outcome,
)
from pipeline.runs.import_work import import_run
from pipeline.runs.run_ends import RunStoppedError, SourcesFailedError
from pipeline.runs.uploads import Upload
from pipeline.sources import tables
from pipeline.sources.definition_files import read_definition
from pipeline.store.catalog.runs.run_record import Run
from tests.builders import NOW
from tests.pipeline.working_store import WorkingStore, a_working_store
from tests.waiting import wait_until

ROWS = 100


def queued(store: WorkingStore, project: Project, file: Path) -> Run:
    upload = Upload(store.settings, project.id)
    upload.write(file.read_bytes())
    options = FileOptions(
        file_name=file.name, variant="page", control="A", goals=("bought",), visitor="id", running=True
    )
    sent = SentFile(sha256=upload.sha256, size=upload.size, suffix=".csv")
    run = file_import(project.id, options, sent, run_key=None, trigger="api", now=NOW)
    upload.place(run.id, ".csv")
    upload.keep()
    upload.close()
    return store.catalog.runs.queue(run, actor="test")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    pl.DataFrame(
        {
            "id": [f"v{one}" for one in range(ROWS)],
            "page": ["A", "B"] * (ROWS // 2),
            "bought": [one % 3 // 2 for one in range(ROWS)],
        }
    ).write_csv(path := tmp_path / "visits.csv")
    return path


def test_an_import_that_a_stop_interrupts_goes_on_at_the_next_start(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_working_store(tmp_path / "store") as store:
        project = store.add_project()
        run = queued(store, project, file)
        write_now, half = store.ingest.write_now, Event()

        def stop_at_the_third(project_id: str, batch: pl.DataFrame) -> None:
            write_now(project_id, batch)
            if store.ingest.last_seq_of(project_id) > ROWS // 3:
                store.runner.stop()
                half.set()

        monkeypatch.setattr(store.ingest, "write_now", stop_at_the_third)
        store.runner.wake(project.id)
        assert half.wait(60)
    with a_working_store(tmp_path / "store") as store:
        (left,) = store.catalog.runs.page(project.id).items
        assert (left.id, left.status, left.progress["stage"]) == (run.id, "queued", "reading")
        store.runner.wake_all()
        wait_until(lambda: store.catalog.runs.get(project.id, run.id).has_ended)
        found = store.catalog.runs.get(project.id, run.id)
        assert (found.status, found.attempts, found.error) == ("done", 2, None)
        numbers = found.result["rows"]
        assert numbers["new"] + numbers["already_there"] == ROWS
        assert 0 < numbers["already_there"] < ROWS
        (experiment,) = store.catalog.experiments.of_project(project.id)
        evidence = store.observe(experiment, project)
        assert evidence.visitors.sum() == ROWS
        assert list(store.settings.uploads_path.glob("*/*")) == []


SOURCE = """
kind = "visitors"
location = "visits.csv"
control = "A"
goals = { bought = "conversion" }
[columns]
visitor = "id"
variant = "page"
"""


class PanicError(BaseException):
    """What a library in Rust raises where it gives up."""


@pytest.mark.parametrize("error", [DiskFullError("the disk is full"), PanicError(), RunStoppedError()])
def test_a_source_that_fails_while_its_rows_are_stored_does_not_stop_the_next_but_a_stop_does(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    definitions = []
    for name in ("first", "second", "third"):
        (path := tmp_path / f"{name}.toml").write_text(SOURCE)
        definitions.append(read_definition(path))
    with a_working_store(tmp_path / "store") as store:
        project = store.add_project()
        sources = tuple(SourceToImport.of(one) for one in definitions)
        leave_import(store.settings, "import_left", CommandImport(project_id=project.id, sources=sources))
        run = source_import(
            project.id, {"command_file": "import_left"}, run_key=None, trigger="command_line", now=NOW
        )
        counted: list[str] = []
        refresh, write_now, errors = store.rollup.refresh, store.ingest.write_now, [error]

        def count(project_id: str) -> None:
            counted.append(project_id)
            refresh(project_id)

        def fail_once_in_the_second(project_id: str, batch: pl.DataFrame) -> None:
            write_now(project_id, batch)
            if errors and store.ingest.last_seq_of(project_id) > 2 * ROWS:
                raise errors.pop()

        monkeypatch.setattr(store.rollup, "refresh", count)
        monkeypatch.setattr(store.ingest, "write_now", fail_once_in_the_second)
        is_stop = isinstance(error, RunStoppedError)
        with pytest.raises(RunStoppedError if is_stop else SourcesFailedError) as raised:
            import_run(store, run, lambda _progress: None)
        outcome = read_outcome(store.settings, "import_left")
    if is_stop:
        assert (outcome, counted) == (CommandOutcome(), [])
        return
    assert [one.name for one in outcome.sources] == ["first", "third"]
    assert [one.experiment.name for one in outcome.reported] == ["first", "third"]
    assert counted == [project.id]
    (failed,) = outcome.failed
    assert (failed.name, failed.is_refused) == ("second", False)
    assert str(raised.value) == failed.sentence
