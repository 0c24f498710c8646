"""Command `import`: visitors or events of a file, into the store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import err, out, progress
from api.cli.options import (
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
    from pipeline.imports.tables import BadRow

MAX_BAD_ROWS_SHOWN = 20


def import_file(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet: one row per visitor, or one row per event.")],
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
) -> None:
    """Import visitors (name their columns) or events (named as in the API), and print the verdict."""
    from api.cli.report_table import render_report
    from pipeline.imports.importer import VisitorFile, import_events, import_visitors
    from pipeline.imports.pause_until_import import pause_since_last_visitor
    from pipeline.imports.visitor_rows import VisitorColumns

    with opened_store(data_dir) as store, progress() as bar:
        target = target_project(store, project, name_of_new=file.stem)
        task = bar.add_task(file.name, total=file.stat().st_size if file.is_file() else None)
        if variant is None:
            imported = import_events(
                file,
                target,
                catalog=store.catalog,
                ingest=store.ingest,
                on_progress=lambda done: bar.update(task, completed=done),
            )
        else:
            columns = VisitorColumns(
                variant=variant,
                goals=goal_columns(goal),
                visitor=visitor,
                timestamp=timestamp,
                segments=segment or (),
            )
            imported = import_visitors(
                VisitorFile(
                    path=file, columns=columns, name=name or file.stem, control=required_control(control)
                ),
                target,
                catalog=store.catalog,
                ingest=store.ingest,
                on_progress=lambda done: bar.update(task, completed=done),
            )
        bar.stop()
        _print_bad_rows(imported.bad_rows)
        out.print(
            f"Imported {imported.rows:,} rows as {imported.events:,} events into {target.name} ({target.id})."
        )
        store.rollup.refresh(target.id)
        if imported.experiment is not None:
            now = utc_now()
            counted = store.results.evidence(imported.experiment, target, now=now)
            experiment = pause_since_last_visitor(
                store.catalog,
                imported.experiment,
                last_visitor_at=counted.last_exposure_at,
                now=now,
            )
            report = store.results.report(experiment, target, now=now, is_finished=not running)
            out.print(render_report(report))
            out.print(f"Experiment {experiment.id}; serve it with `truelift serve --data-dir {data_dir}`.")


def _print_bad_rows(bad_rows: "tuple[BadRow, ...]") -> None:
    for bad in bad_rows[:MAX_BAD_ROWS_SHOWN]:
        err.print(f"line {bad.line}: {bad.reason}", highlight=False, markup=False)
    if len(bad_rows) > MAX_BAD_ROWS_SHOWN:
        err.print(f"… and {len(bad_rows) - MAX_BAD_ROWS_SHOWN:,} more")
    if bad_rows:
        err.print(f"{len(bad_rows):,} rows were skipped; the others are imported.")
