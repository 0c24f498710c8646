"""Command `import`: visitors or events of files and other tables, into the store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import out, print_json, progress
from api.cli.imports.import_report import print_bad_rows, print_report, rows_and_events, show_storing
from api.cli.imports.sources import import_sources
from api.cli.options import (
    AsJson,
    ControlOption,
    DataDir,
    GoalOption,
    OptionalLocations,
    RunningOption,
    SqlOption,
    TableOption,
    TimestampOption,
    VariantOption,
    VisitorOption,
    goal_columns,
    name_of,
    query_of,
    required_control,
)
from api.cli.stores import opened_catalog, opened_store, require_store, target_project

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from engine.analysis.results.report import Report
    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from pipeline.imports.import_result import Imported
    from pipeline.imports.visitor_rows import VisitorColumns
    from pipeline.runs.command_imports import FilesToImport
    from pipeline.sources.tables import Table
    from pipeline.store.catalog.catalog import Catalog

    # Finds the project of an import in a catalog.
    NamedProject = Callable[[Catalog], Project]


def import_files(
    files: OptionalLocations = None,
    data_dir: DataDir = Path("data/store"),
    project: Annotated[
        str | None, typer.Option("--project", help="Project id; by default the only project.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option("--account", help="Account of the project, by id; by default the only account."),
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
    unit: Annotated[
        str | None,
        typer.Option("--unit", help="Column of what is compared instead of visitors, such as an account."),
    ] = None,
    running: RunningOption = False,
    table: TableOption = None,
    sql: SqlOption = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--source",
            help="File that describes a source; may be repeated. Without it and without files, those of "
            "`sources` in the data folder.",
        ),
    ] = None,
    max_bad_share: Annotated[
        float,
        typer.Option(
            "--max-bad-share",
            min=0,
            max=1,
            help="Largest share of unusable rows with which the others are imported.",
        ),
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Import visitors (name their columns) or events (named as in the API), and print the verdict."""
    if source or not files:
        if files or variant is not None or table is not None or sql is not None:
            raise typer.BadParameter("name files and their columns, or --source, which says both")
        require_store(data_dir)
        import_sources(source or (), data_dir, project, account, as_json=as_json)
        return
    from api.cli.client.running_service import find_service
    from pipeline.imports.visitor_rows import VisitorColumns
    from pipeline.runs.command_imports import FilesToImport
    from pipeline.sources.locations import find_tables

    query = query_of(table, sql)
    tables = find_tables(files, query=query)
    columns = None
    if variant is not None:
        columns = VisitorColumns(
            variant=variant,
            goals=goal_columns(goal),
            visitor=visitor,
            timestamp=timestamp,
            segments=segment or (),
            unit=unit,
        )
    asked = FilesToImport(
        locations=tuple(files),
        query=query,
        columns=columns,
        name=name or name_of(files[0]),
        control=required_control(control) if columns is not None else "",
        running=running,
        max_bad_share=max_bad_share,
    )
    require_store(data_dir)
    printed = _Printed(data_dir, asked, as_json=as_json, several=len(tables) > 1)
    named = partial(target_project, project_id=project, account_id=account, name_of_new=name_of(files[0]))
    service = find_service(data_dir)
    if service is None:
        _import_here(printed, named, tables)
    else:
        _import_there(service, printed, named, tables)


@dataclass(frozen=True, slots=True)
class _Printed:
    """What an import prints: numbers, and the verdict."""

    data_dir: Path
    asked: "FilesToImport"
    as_json: bool
    several: bool

    def numbers(self, imported: "Imported", target: "Project") -> None:
        print_bad_rows(imported, several=self.several)
        if self.as_json:
            print_json(_summary(imported, target))
            return
        for line in _summary_lines(imported, target, self.asked.columns):
            out.print(line, soft_wrap=True, highlight=False, markup=False)

    def report(self, report: "Report", experiment: "Experiment", service_url: str | None = None) -> None:
        if not self.as_json:
            print_report(report, experiment, self.data_dir, service_url=service_url)


def _import_here(printed: _Printed, named: "NamedProject", tables: "Sequence[Table]") -> None:
    """Import in this process, which owns the store meanwhile."""
    from pipeline.runs.import_work import report_of
    from pipeline.runs.own_imports import import_own_files

    asked = printed.asked
    with opened_store(printed.data_dir) as store:
        target = named(store.catalog)
        with progress() as bar:
            size = sum(table.size for table in tables)
            task = bar.add_task(_description(tables), total=size or None)
            imported = import_own_files(store, target, tables, asked, partial(show_storing, bar, task))
        printed.numbers(imported, target)
        store.rollup.refresh(target.id)
        if imported.experiment is not None:
            report = report_of(store, imported.experiment, target, running=asked.running)
            printed.report(report, imported.experiment)


def _import_there(
    service: "RunningService", printed: _Printed, named: "NamedProject", tables: "Sequence[Table]"
) -> None:
    """Leave the import to the service."""
    from api.cli.imports.service_imports import absolute, import_there
    from pipeline.runs.command_imports import CommandImport

    asked = printed.asked
    with opened_catalog(printed.data_dir) as catalog:
        target = named(catalog)
    found = replace(asked, locations=tuple(absolute(one) for one in asked.locations))
    left = CommandImport(project_id=target.id, files=found)
    outcome, failure = import_there(service, target, left, _description(tables))
    if outcome.files is not None:
        printed.numbers(outcome.files, target)
    if failure is not None:
        raise failure
    for one in outcome.reported:
        printed.report(one.report, one.experiment, service.url)


def _description(tables: "Sequence[Table]") -> str:
    return ", ".join(table.name for table in tables[:3])


def _summary(imported: "Imported", target: "Project") -> dict[str, object]:
    return {
        "project_id": target.id,
        "experiment_id": imported.experiment.id if imported.experiment else None,
        **imported.numbers,
    }


def _summary_lines(imported: "Imported", target: "Project", columns: "VisitorColumns | None") -> list[str]:
    lines = [f"{rows_and_events(imported)} Project {target.name} ({target.id})."]
    if columns is None:
        return lines
    if imported.returning_rows:
        told_by = "visitor and time" if columns.timestamp else "visitor"
        lines.append(
            f"{imported.returning_rows:,} of the new rows have the {told_by} of a row that was already "
            "there: both count, and amounts add up. If the file corrects earlier rows, import all of it "
            "under another --name."
        )
    if columns.visitor is None and imported.has_earlier_rows and not imported.known_rows:
        lines.append(
            "Without --visitor every new row is a new visitor. If an earlier file had some of these rows, "
            "name the column of visitor ids, and import under another --name."
        )
    return lines
