"""Output of imports: numbers, rejected rows and verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from api.cli.console import err, out

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from engine.analysis.results.report import Report
    from engine.design.experiment import Experiment
    from pipeline.imports.import_result import Imported

MAX_BAD_ROWS_SHOWN: Final = 20


def rows_and_events(imported: "Imported") -> str:
    """Write the numbers of new rows and events, and of those that were stored already."""
    all_rows = imported.rows + imported.known_rows
    all_events = imported.events + imported.known_events
    if not all_rows and not all_events and not imported.rejected:
        return "No rows: nothing is new, or the table is empty."
    rows = f"{all_rows:,} rows: {imported.rows:,} new, {imported.known_rows:,} already there."
    events = f"{all_events:,} events: {imported.events:,} new, {imported.known_events:,} already there."
    if not imported.left_out:
        return f"{rows} {events}"
    return f"{rows} {events} {imported.left_out:,} new rows were left out: their experiments are completed."


def show_storing(bar: "Progress", task: "TaskID", stage: str, done: int) -> None:
    """Move a bar on while rows are stored; reading comes before."""
    if stage == "storing":
        bar.update(task, completed=done)


def print_report(
    report: "Report", experiment: "Experiment", data_dir: Path, *, service_url: str | None = None
) -> None:
    """Print a report, and where the service shows it, or the way to serve it."""
    from api.cli.report_table import render_report

    out.print(render_report(report))
    page = f"/projects/{experiment.project_id}/experiments/{experiment.id}"
    where = (
        f"serve it with `truelift serve --data-dir {data_dir}`."
        if service_url is None
        else f"see it at {service_url}{page}"
    )
    out.print(f"Experiment {experiment.id}; {where}", soft_wrap=True)


def print_bad_rows(imported: "Imported", *, several: bool) -> None:
    """Print the first rejected rows with their reasons, and their number; `several` tables are named."""
    for bad in imported.bad_rows[:MAX_BAD_ROWS_SHOWN]:
        table = f"{bad.table} " if several else ""
        err.print(f"{table}line {bad.line}: {bad.reason}", highlight=False, markup=False)
    if imported.rejected > MAX_BAD_ROWS_SHOWN:
        err.print(f"… and {imported.rejected - MAX_BAD_ROWS_SHOWN:,} more")
    if imported.rejected:
        err.print(f"{imported.rejected:,} rows were skipped; the others are imported.")
    if imported.repeated_times:
        err.print(repeated_times(imported.repeated_times))


def repeated_times(rows: int) -> str:
    """Say how local times were read that occur twice."""
    return (
        f"{rows:,} rows have a local time that the clocks showed twice; it was read as the first of the two."
    )
