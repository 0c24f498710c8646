"""Imports of a command that owns the store: runs of their projects, in the command's own thread."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from engine.design.project import Project
from pipeline.imports.import_result import Imported
from pipeline.imports.source_import import ImportedSource
from pipeline.runs.command_imports import FilesToImport
from pipeline.runs.import_stores import RunStores
from pipeline.runs.import_work import OnProgress, experiments_of, import_described, import_files, result_of
from pipeline.runs.runner import Runner
from pipeline.sources.definition_files import DefinedSource
from pipeline.sources.tables import Table
from pipeline.store.catalog.runs.run_record import Run, RunResult

T = TypeVar("T")


class OwnStores(RunStores, Protocol):
    """The stores of an import, and what records its run."""

    @property
    def runner(self) -> Runner:
        """Runs of this process."""


def import_own_files(
    store: OwnStores,
    project: Project,
    tables: Sequence[Table],
    asked: FilesToImport,
    on_progress: OnProgress,
) -> Imported:
    """Import tables as a run; raises what the import raises, once the run is recorded as failed."""

    def work(_run: Run) -> tuple[Imported, RunResult]:
        imported = import_files(store, project, tables, asked, on_progress)
        result = result_of(project, imported, experiments_of(imported))
        return imported, RunResult(events=imported.events, result=result)

    return _recorded(store, project, ", ".join(table.name for table in tables), work)


def import_own_source(
    store: OwnStores, project: Project, defined: DefinedSource, on_progress: OnProgress
) -> ImportedSource:
    """Import a described source as a run; raises as `import_source`, once the run is recorded as failed."""

    def work(run: Run) -> tuple[ImportedSource, RunResult]:
        found = import_described(store, project, defined, on_progress, run_id=run.id)
        result = result_of(project, found.imported, found.experiments)
        result["watermark"] = msgspec.to_builtins(found.watermark)
        return found, RunResult(events=found.imported.events, drift=found.drift, result=result)

    return _recorded(store, project, defined.name, work)


def _recorded(
    store: OwnStores, project: Project, source: str, work: Callable[[Run], tuple[T, RunResult]]
) -> T:
    """Do the work as a run of `source`; one that a signal or a kill ends is marked at the next start."""
    run = Run(
        project_id=project.id,
        kind="import",
        trigger="command_line",
        parameters={"source": source},
        created_at=store.clock(),
    )
    done: list[T] = []

    def work_of_run(carried_out: Run, _report: object) -> RunResult:
        found, result = work(carried_out)
        done.append(found)
        return result

    error = store.runner.carry_out(run, work_of_run).error
    if error is not None:
        raise error
    return done[0]
