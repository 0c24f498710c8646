"""Bringing a file into the store from the command line."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.accounts import DataDir
from api.cli.console import err, out, progress
from api.cli.stores import opened_store, the_project

if TYPE_CHECKING:
    from engine.frames.rows import GoalKind
    from pipeline.imports.tables import BadRow

SHOWN_BAD_ROWS = 20
GOAL_KINDS: dict[str, "GoalKind"] = {"": "custom_event", "conversion": "custom_event", "revenue": "revenue"}

GoalOption = Annotated[
    list[str] | None,
    typer.Option("--goal", help="Column of a goal: `bought` (1 or 0), or `spend:revenue` (an amount)."),
]
VariantOption = Annotated[str | None, typer.Option("--variant", help="Column with the variant seen.")]
ControlOption = Annotated[str | None, typer.Option("--control", help="Which variant is the control.")]


def import_file(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet: one row a visitor, or one row an event.")],
    data_dir: DataDir = Path("data/store"),
    project: Annotated[
        str | None, typer.Option("--project", help="Project id; the only one if unset.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the experiment.")] = None,
    variant: VariantOption = None,
    control: ControlOption = None,
    goal: GoalOption = None,
    visitor: Annotated[str | None, typer.Option("--visitor", help="Column with the visitor's id.")] = None,
    timestamp: Annotated[str | None, typer.Option("--timestamp", help="Column with the time, UTC.")] = None,
    segment: Annotated[
        list[str] | None, typer.Option("--segment", help="Column to filter results by; may be repeated.")
    ] = None,
) -> None:
    """Import visitors (name their columns) or events (columns named as in the API), then show the verdict."""
    from api.cli.report_table import render_report
    from pipeline.imports.importer import VisitorFile, import_events, import_visitors
    from pipeline.imports.visitor_rows import VisitorColumns
    from pipeline.results.filters import SegmentFilters

    with opened_store(data_dir) as store, progress() as bar:
        target = the_project(store, project, name_of_new=file.stem)
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
                    path=file, columns=columns, name=name or file.stem, control=named_control(control)
                ),
                target,
                catalog=store.catalog,
                ingest=store.ingest,
                on_progress=lambda done: bar.update(task, completed=done),
            )
        bar.stop()
        _tell_bad_rows(imported.bad_rows)
        out.print(
            f"Imported {imported.rows:,} rows as {imported.events:,} events into {target.name} ({target.id})."
        )
        store.rollup.refresh(target.id)
        if imported.experiment is not None:
            report = store.results.report(
                imported.experiment, target, SegmentFilters(), now=datetime.now(UTC)
            )
            out.print(render_report(report))
            out.print(
                f"Experiment {imported.experiment.id}; serve it with `truelift serve --data-dir {data_dir}`."
            )


def goal_columns(options: list[str] | None) -> "dict[str, GoalKind]":
    """`["bought", "spend:revenue"]` as column → goal type."""
    goals: dict[str, GoalKind] = {}
    for option in options or ():
        column, _, kind = option.partition(":")
        if kind not in GOAL_KINDS or not column:
            raise typer.BadParameter(
                f"{option!r}: write a column, or a column and its kind, such as `spend:revenue`"
            )
        goals[column] = GOAL_KINDS[kind]
    if not goals:
        raise typer.BadParameter("name at least one goal, such as --goal converted")
    return goals


def named_control(control: str | None) -> str:
    """The control, which nobody can guess."""
    if control is None:
        raise typer.BadParameter("say which variant is the control, such as --control A")
    return control


def _tell_bad_rows(bad_rows: "tuple[BadRow, ...]") -> None:
    for bad in bad_rows[:SHOWN_BAD_ROWS]:
        err.print(f"line {bad.line}: {bad.reason}", highlight=False, markup=False)
    if len(bad_rows) > SHOWN_BAD_ROWS:
        err.print(f"… and {len(bad_rows) - SHOWN_BAD_ROWS:,} more")
    if bad_rows:
        err.print(f"{len(bad_rows):,} rows were left out; the rest is imported.")
