"""Work of import runs: uploaded files, described sources, and what commands leave."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from typing import Any, Final

import msgspec

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.errors import EngineError
from engine.typed_records import record_of
from pipeline.imports.event_import import Stage, import_events
from pipeline.imports.import_requests import FileOptions, SentFile
from pipeline.imports.import_result import Imported
from pipeline.imports.imported_experiment import ImportRefusedError, pause_since_last_visitor
from pipeline.imports.importer import import_visitors
from pipeline.imports.source_import import ImportedSource, import_source
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.runs.command_imports import (
    CommandOutcome,
    FilesToImport,
    ReportedExperiment,
    project_of_imports_left,
    read_import_left,
    remove_import_left,
    remove_old_imports_left,
    write_outcome,
)
from pipeline.runs.described_sources import find_source
from pipeline.runs.import_stores import RunStores
from pipeline.runs.run_ends import (
    NO_FAILURES,
    RunStoppedError,
    SourcesFailedError,
    as_exception,
    sentence_of,
)
from pipeline.runs.runner import ReportProgress
from pipeline.runs.uploads import (
    projects_with_uploads,
    remove_left_uploads,
    remove_upload,
    remove_uploads,
    uploaded_file,
)
from pipeline.settings import Settings
from pipeline.sources.definition import Source
from pipeline.sources.definition_files import DefinedSource, FailedSource
from pipeline.sources.disk_files import FileTable
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import Table, UnreadableSourceError
from pipeline.sources.warehouse_definition import WarehouseSource
from pipeline.store.catalog.runs.run_record import Run, RunResult

# A command that was killed, or stopped waiting, reads no outcome.
LEFT_FILES_KEPT_FOR: Final = timedelta(days=1)
# Rejected rows that a run's result names; further ones are counted.
ROWS_NAMED: Final = 100
logger = logging.getLogger(__name__)
OnProgress = Callable[[Stage, int], None]
# Errors of an import that come before its first row is stored.
REFUSALS: Final = (EngineError, ImportRefusedError, UnreadableSourceError)


def remove_import_files(settings: Settings, ended: Run) -> None:
    """Remove the uploaded file of a run that has ended, or what a command left for it."""
    remove_upload(settings, ended.project_id, ended.id)
    if file := ended.parameters.get("command_file"):
        remove_import_left(settings, file)


def remove_left_imports(
    settings: Settings, unended: Iterable[Run], *, before: datetime | None = None
) -> None:
    """Remove uploaded files, what commands left, and outcomes, of all imports but the `unended` ones.

    While the service runs, only those last written `before` a time: uploads may be under way, and commands
    about to read their outcomes.
    """
    imports = [run for run in unended if run.kind == "import"]
    remove_left_uploads(settings, {run.id for run in imports}, before=before)
    files = {str(run.parameters.get("command_file")) for run in imports}
    remove_old_imports_left(settings, files, before=before)


def projects_with_imports(settings: Settings) -> set[str]:
    """Return the ids of projects of which there are uploaded files, or imports that commands left."""
    return projects_with_uploads(settings) | set(project_of_imports_left(settings).values())


def remove_imports_of(settings: Settings, project_id: str) -> None:
    """Remove the uploaded files of a project, and what commands left for it."""
    remove_uploads(settings, project_id)
    for file, owner in project_of_imports_left(settings).items():
        if owner == project_id:
            remove_import_left(settings, file)


def import_run(store: RunStores, run: Run, report: ReportProgress) -> RunResult:
    """Carry out a run of the kind `import`: its rows are stored, counted and judged.

    Raises what the import raises; nothing of a table that is refused is stored.
    """
    project = store.catalog.projects.find(run.project_id)
    if "command_file" in run.parameters:
        return _import_left(store, project, run, report)
    if "source" in run.parameters:
        defined = find_source(store, project, run.parameters["source"])
        progress = _progress_of(defined.tables(), report)
        found = import_described(store, project, defined, progress, run_id=run.id)
        drift = found.drift
        experiments, is_running = found.experiments, is_still_running(defined.source)
        result = result_of(project, found.imported, experiments)
        result["watermark"] = msgspec.to_builtins(found.watermark)
    else:
        drift = ()
        imported, is_running = _import_upload(store, project, run, report)
        experiments = experiments_of(imported)
        result = result_of(project, imported, experiments)
    store.rollup.refresh(project.id)
    judge(store, project, experiments, running=is_running)
    return RunResult(events=result["events"]["new"], drift=drift, result=result)


def import_described(
    store: RunStores, project: Project, defined: DefinedSource, on_progress: OnProgress, *, run_id: str
) -> ImportedSource:
    """Import a described source, or count a warehouse; raises as `import_source` and `count_warehouse`."""
    if isinstance(defined.source, WarehouseSource):
        # sqlglot takes half a second to import, and is in an extra.
        try:
            from pipeline.warehouse.warehouse_count import count_warehouse  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if error.name != "sqlglot":
                raise
            raise UnreadableSourceError(
                "counting a warehouse needs sqlglot: pip install 'truelift[warehouse]'"
            ) from None

        return count_warehouse(store, defined, project, run_id=run_id)
    return import_source(defined, project, store=store, on_progress=on_progress)


def import_files(
    store: RunStores,
    project: Project,
    tables: Sequence[Table],
    asked: FilesToImport,
    on_progress: OnProgress,
) -> Imported:
    """Import tables of visitors where there are columns of them, of events otherwise."""
    if asked.columns is None:
        return import_events(
            tables, project, store=store, max_bad_share=asked.max_bad_share, on_progress=on_progress
        )
    visitors = VisitorTables(
        tables=tables,
        columns=asked.columns,
        name=asked.name,
        control=asked.control,
        max_bad_share=asked.max_bad_share,
    )
    return import_visitors(visitors, project, store=store, on_progress=on_progress)


def experiments_of(imported: Imported) -> tuple[Experiment, ...]:
    """Return the experiment of a file of visitors, none of events."""
    return () if imported.experiment is None else (imported.experiment,)


def is_still_running(source: Source) -> bool:
    """Tell whether the experiments of a source go on, so that they are judged by their plans."""
    return source.kind in {"exposures", "warehouse"} or source.running


def judge(
    store: RunStores, project: Project, experiments: Iterable[Experiment], *, running: bool
) -> list[ReportedExperiment]:
    """Report the experiments of an import that are not over; a finished one's look is recorded."""
    return [
        ReportedExperiment(
            experiment=experiment, report=report_of(store, experiment, project, running=running)
        )
        for experiment in experiments
        if experiment.status in {"running", "paused"}
    ]


def report_of(store: RunStores, experiment: Experiment, project: Project, *, running: bool) -> Report:
    """Judge the experiment, whose running days end at its last visitor."""
    now = store.clock()
    counted = store.results.evidence(experiment, project, now=now)
    paused = pause_since_last_visitor(store.catalog, experiment, last=counted.last_exposure_at, now=now)
    return store.results.report(paused, project, now=now, is_finished=not running)


def _import_upload(
    store: RunStores, project: Project, run: Run, report: ReportProgress
) -> tuple[Imported, bool]:
    options = record_of(run.parameters["options"], FileOptions)
    suffix = record_of(run.parameters["file"], SentFile).suffix
    path = uploaded_file(store.settings, project.id, run.id, suffix)
    table = FileTable(path, options.file_name)
    columns = None
    if options.variant is not None:
        columns = VisitorColumns(
            variant=options.variant,
            goals=options.goal_types,
            visitor=options.visitor,
            timestamp=options.timestamp,
            segments=options.segments,
            unit=options.unit,
        )
    asked = FilesToImport(
        locations=(),
        query=None,
        columns=columns,
        name=options.experiment_name,
        control=options.control or "",
        running=options.running,
        max_bad_share=options.max_bad_share,
    )
    return import_files(store, project, [table], asked, _progress_of([table], report)), options.running


def _import_left(store: RunStores, project: Project, run: Run, report: ReportProgress) -> RunResult:
    """Import what a command left, and leave the outcome for it, also where a source fails."""
    file = run.parameters["command_file"]
    left = read_import_left(store.settings, file)
    write = partial(write_outcome, store.settings, file)
    if left.files is not None:
        tables = find_tables(left.files.locations, query=left.files.query)
        imported = import_files(store, project, tables, left.files, _progress_of(tables, report))
        store.rollup.refresh(project.id)
        experiments = experiments_of(imported)
        reported = [
            ReportedExperiment(
                experiment=one, report=report_of(store, one, project, running=left.files.running)
            )
            for one in experiments
        ]
        write(CommandOutcome(files=imported, reported=tuple(reported)))
        result = result_of(project, imported, experiments)
        return RunResult(events=imported.events, result=result)
    done, failed = _import_sources(store, project, run, [one.defined for one in left.sources], report)
    imported_sources = tuple(one for _, one in done)
    # Were the count to fail, the command would still be told of the sources.
    write(CommandOutcome(sources=imported_sources, failed=tuple(failed)))
    if done:
        store.rollup.refresh(project.id)
    reported = [
        judged
        for defined, one in done
        for judged in judge(store, project, one.experiments, running=is_still_running(defined.source))
    ]
    write(CommandOutcome(sources=imported_sources, reported=tuple(reported), failed=tuple(failed)))
    if failed:
        raise SourcesFailedError("; ".join(one.sentence for one in failed))
    results = [result_of(project, one.imported, one.experiments) for one in imported_sources]
    named = [{"source": one.name, **result} for one, result in zip(imported_sources, results, strict=True)]
    return RunResult(
        events=sum(one.imported.events for one in imported_sources),
        drift=tuple(experiment for one in imported_sources for experiment in one.drift),
        result={"sources": named},
    )


def _import_sources(
    store: RunStores, project: Project, run: Run, sources: Iterable[DefinedSource], report: ReportProgress
) -> tuple[list[tuple[DefinedSource, ImportedSource]], list[FailedSource]]:
    """Try each source, whatever becomes of those before it."""
    done: list[tuple[DefinedSource, ImportedSource]] = []
    failed: list[FailedSource] = []
    for defined in sources:
        try:
            progress = _progress_of(defined.tables(), report)
            done.append((defined, import_described(store, project, defined, progress, run_id=run.id)))
        except (RunStoppedError, *NO_FAILURES):
            # The service ends: neither is there time to count, nor a command that is answered.
            raise
        # A panic of a library in Rust is no Exception.
        except BaseException as error:
            logger.exception("the source %s of %s was not imported", defined.name, project.id)
            failed.append(failure_of(defined, as_exception(error)))
    return done, failed


def failure_of(defined: DefinedSource, error: Exception) -> FailedSource:
    """Describe the failure of a source in a sentence."""
    return FailedSource(name=defined.name, error=sentence_of(error), is_refused=isinstance(error, REFUSALS))


def _progress_of(tables: Sequence[Table], report: ReportProgress) -> OnProgress:
    """Report how far the tables are read or stored, in the unit of their sizes; 0 where it is unknown."""
    total = sum(table.size for table in tables)
    return lambda stage, done: report({"stage": stage, "done": done, "total": total})


def result_of(project: Project, imported: Imported, experiments: Iterable[Experiment]) -> dict[str, Any]:
    """Describe an import for its record."""
    return {
        "project_id": project.id,
        "experiment_ids": [one.id for one in experiments],
        **imported.numbers,
        "rejected_rows": [
            msgspec.to_builtins(replace(one, table=PurePath(one.table).name))
            for one in imported.bad_rows[:ROWS_NAMED]
        ],
    }
