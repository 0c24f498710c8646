"""Command `import`: visitors or events of files, into the store."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import CommandError, err, out, print_json, progress
from api.cli.options import (
    AsJson,
    ControlOption,
    DataDir,
    GoalOption,
    RunningOption,
    TimestampOption,
    VariantOption,
    VisitorOption,
    goal_columns,
    required_control,
)
from api.cli.stores import opened_store, target_project
from pipeline.clock import utc_now

if TYPE_CHECKING:
    from engine.analysis.results.report import Report
    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from pipeline.imports.import_result import Imported
    from pipeline.imports.visitor_rows import VisitorFiles
    from pipeline.services import PipelineServices

MAX_BAD_ROWS_SHOWN = 20


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(help="CSV or Parquet: one row per visitor, or one row per event. Read as one file."),
    ],
    data_dir: DataDir = Path("data/store"),
    project: Annotated[
        str | None, typer.Option("--project", help="Project id; by default the only project.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the experiment.")] = None,
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: GoalOption = None,
    visitor: VisitorOption = None,
    timestamp: TimestampOption = None,
    segment: Annotated[
        list[str] | None, typer.Option("--segment", help="Column to filter results by; may be repeated.")
    ] = None,
    running: RunningOption = False,
    as_json: AsJson = False,
) -> None:
    """Import visitors (name their columns) or events (named as in the API), and print the verdict."""
    from pipeline.imports.visitor_rows import VisitorColumns, VisitorFiles

    _require_distinct(files)
    visitors = None
    if variant is not None:
        columns = VisitorColumns(
            variant=variant,
            goals=goal_columns(goal),
            visitor=visitor,
            timestamp=timestamp,
            segments=segment or (),
        )
        visitors = VisitorFiles(
            paths=files, columns=columns, name=name or files[0].stem, control=required_control(control)
        )
    with opened_store(data_dir) as store:
        target = target_project(store, project, name_of_new=files[0].stem)
        imported = _import(store, target, files, visitors)
        _print_bad_rows(imported, several=len(files) > 1)
        if as_json:
            print_json(_summary(imported, target))
        else:
            for line in _summary_lines(imported, target, visitors):
                out.print(line, soft_wrap=True, highlight=False, markup=False)
        store.rollup.refresh(target.id)
        if imported.experiment is not None:
            report = _report(store, imported.experiment, target, running=running)
            if not as_json:
                _print_report(report, imported.experiment, data_dir)


def _require_distinct(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise CommandError(f"{file} is named twice; its rows would count twice")
        seen.add(file.resolve())


def _import(
    store: "PipelineServices", target: "Project", files: Sequence[Path], visitors: "VisitorFiles | None"
) -> "Imported":
    from pipeline.imports.event_import import import_events
    from pipeline.imports.importer import import_visitors

    with progress() as bar:
        size = sum(file.stat().st_size for file in files if file.is_file())
        task = bar.add_task(", ".join(file.name for file in files[:3]), total=size)

        def on_progress(done: int) -> None:
            bar.update(task, completed=done)

        if visitors is None:
            return import_events(files, target, store=store, on_progress=on_progress)
        return import_visitors(visitors, target, store=store, on_progress=on_progress)


def _report(
    store: "PipelineServices", experiment: "Experiment", target: "Project", *, running: bool
) -> "Report":
    """Judge the experiment, whose running days end at its last visitor."""
    from pipeline.imports.pause_until_import import pause_since_last_visitor

    now = utc_now()
    counted = store.results.evidence(experiment, target, now=now)
    paused = pause_since_last_visitor(
        store.catalog, experiment, last_visitor_at=counted.last_exposure_at, now=now
    )
    return store.results.report(paused, target, now=now, is_finished=not running)


def _print_report(report: "Report", experiment: "Experiment", data_dir: Path) -> None:
    from api.cli.report_table import render_report

    out.print(render_report(report))
    out.print(f"Experiment {experiment.id}; serve it with `truelift serve --data-dir {data_dir}`.")


def _summary(imported: "Imported", target: "Project") -> dict[str, object]:
    return {
        "project_id": target.id,
        "experiment_id": imported.experiment.id if imported.experiment else None,
        "rows": {
            "new": imported.rows,
            "already_there": imported.known_rows,
            "rejected": imported.rejected,
            "of_known_visitors": imported.returning_rows,
        },
        "events": {"new": imported.events, "already_there": imported.known_events},
    }


def _summary_lines(imported: "Imported", target: "Project", visitors: "VisitorFiles | None") -> list[str]:
    all_rows = imported.rows + imported.known_rows
    all_events = imported.events + imported.known_events
    rows = f"{all_rows:,} rows: {imported.rows:,} new, {imported.known_rows:,} already there."
    events = f"{all_events:,} events: {imported.events:,} new, {imported.known_events:,} already there."
    lines = [f"{rows} {events} Project {target.name} ({target.id})."]
    if visitors is None:
        return lines
    if imported.returning_rows:
        told_by = "visitor and time" if visitors.columns.timestamp else "visitor"
        lines.append(
            f"{imported.returning_rows:,} of the new rows have the {told_by} of a row that was already "
            "there: both count, and amounts add up. If the file corrects earlier rows, import all of it "
            "under another --name."
        )
    if visitors.columns.visitor is None and imported.has_earlier_rows and not imported.known_rows:
        lines.append(
            "Without --visitor every new row is a new visitor. If an earlier file had some of these rows, "
            "name the column of visitor ids, and import under another --name."
        )
    return lines


def _print_bad_rows(imported: "Imported", *, several: bool) -> None:
    for bad in imported.bad_rows[:MAX_BAD_ROWS_SHOWN]:
        file = f"{bad.file} " if several else ""
        err.print(f"{file}line {bad.line}: {bad.reason}", highlight=False, markup=False)
    if imported.rejected > MAX_BAD_ROWS_SHOWN:
        err.print(f"… and {imported.rejected - MAX_BAD_ROWS_SHOWN:,} more")
    if imported.rejected:
        err.print(f"{imported.rejected:,} rows were skipped; the others are imported.")
