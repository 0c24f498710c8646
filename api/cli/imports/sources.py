"""Command `source check`, and the import of described sources."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.console import CommandError, out, print_error, print_json, progress
from api.cli.imports import warehouses
from api.cli.imports.import_report import (
    print_bad_rows,
    print_report,
    repeated_times,
    rows_and_events,
    show_storing,
)
from api.cli.options import AsJson, DataDir
from api.cli.runs import FAILED
from api.cli.stores import opened_catalog, opened_store, target_project
from pipeline.clock import utc_now

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from engine.design.project import Project
    from pipeline.imports.source_check import CheckedSource
    from pipeline.imports.source_import import ImportedSource
    from pipeline.runs.command_imports import ReportedExperiment
    from pipeline.sources.definition_files import DefinedSource, FailedSource
    from pipeline.store.catalog.catalog import Catalog
    from pipeline.warehouse.warehouse_check import CheckedWarehouse

    # What was imported, and into which project.
    Done = tuple[Project, ImportedSource]
    # Finds the project of a source in a catalog.
    TargetOf = Callable[[DefinedSource, Catalog], Project]

source = typer.Typer(name="source", help="Described sources of imports.", no_args_is_help=True)
source.command()(warehouses.sql)
source.command()(warehouses.verify)


@source.command()
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files that describe sources; by default those of the data folder."),
    ] = None,
    data_dir: DataDir = Path("data/store"),
    as_json: AsJson = False,
) -> None:
    """Check the files that describe sources, and print ten rows of each as they would be imported."""
    from pipeline.imports.source_check import CheckedSource, check_source
    from pipeline.runs.import_work import REFUSALS
    from pipeline.sources.definition_files import FailedSource, read_definitions

    definitions, failed = read_definitions(files or (), data_dir)
    checked: list[CheckedSource | CheckedWarehouse] = []
    for one in definitions:
        try:
            checked.append(
                _check_warehouse(one)
                if one.source.kind == "warehouse"
                else check_source(one, data_dir, now=utc_now())
            )
        except REFUSALS as error:
            failed.append(FailedSource(name=one.name, error=str(error)))
    if as_json:
        wrong = [{"source": one.name, "error": one.error} for one in failed]
        print_json({"sources": [one.as_json() for one in checked], "failed": wrong})
    else:
        for found in checked:
            if isinstance(found, CheckedSource):
                _print_checked(found)
            else:
                warehouses.print_checked(found)
    for problem in failed:
        print_error(f"{problem.name}: {problem.error}")
    if failed or any(one.warning for one in checked if isinstance(one, CheckedSource)):
        raise typer.Exit(FAILED)


def _check_warehouse(defined: "DefinedSource") -> "CheckedWarehouse":
    from pipeline.warehouse.warehouse_check import check_warehouse

    return check_warehouse(defined, now=utc_now())


def _print_checked(checked: "CheckedSource") -> None:
    out.print(f"{checked.name}: {checked.kind} of {', '.join(checked.tables)}", highlight=False)
    for row in checked.rows:
        out.print("  " + ", ".join(f"{name} {value}" for name, value in row.items()), highlight=False)
    for bad in checked.bad_rows:
        out.print(f"  line {bad.line} is unusable: {bad.reason}", highlight=False)
    if checked.repeated_times:
        out.print(f"  {repeated_times(checked.repeated_times)}", highlight=False)
    if checked.warning:
        out.print(f"  {checked.warning}", highlight=False)
    for project, mark in checked.as_json()["watermarks"].items():
        newest, at = mark["newest_at"], mark["imported_at"]
        out.print(f"  {project}: {mark['rows']:,} rows up to {newest}, imported at {at}", highlight=False)


def import_sources(
    files: Sequence[Path], data_dir: Path, project_id: str | None, account_id: str | None, *, as_json: bool
) -> None:
    """Import the sources that files describe, by default those of the data folder, and print the verdicts.

    Each is tried, whatever becomes of those before it; exit status 4 where one was not imported.
    """
    from api.cli.client.running_service import find_service
    from pipeline.sources.definition_files import read_definitions

    definitions, failed = read_definitions(files, data_dir)
    service = find_service(data_dir)

    def target_of(defined: "DefinedSource", catalog: "Catalog") -> "Project":
        project = defined.source.project or project_id
        return target_project(catalog, project, account_id=account_id, name_of_new=defined.name)

    if service is None:
        ended = _import_here(definitions, data_dir, target_of)
    else:
        ended = _import_there(service, definitions, target_of)
    failed += ended.failed
    _print_numbers(ended.done, failed, as_json=as_json)
    if not as_json:
        for found in ended.reported:
            url = None if service is None else service.url
            print_report(found.report, found.experiment, data_dir, service_url=url)
    for one in failed:
        print_error(one.sentence)
    if ended.error is not None:
        raise ended.error
    if failed:
        names, number = ", ".join(one.name for one in failed), len(ended.done) + len(failed)
        print_error(f"{len(failed)} of {number} sources failed: {names}; verdicts that need them wait")
        raise typer.Exit(FAILED)


@dataclass(slots=True)
class _Ended:
    """What became of the sources of a command, and an error that ended all of it."""

    done: "list[Done]" = field(default_factory=list)
    failed: "list[FailedSource]" = field(default_factory=list)
    reported: "list[ReportedExperiment]" = field(default_factory=list)
    error: CommandError | None = None


def _targets(
    definitions: "Sequence[DefinedSource]", catalog: "Catalog", target_of: "TargetOf", ended: _Ended
) -> "list[tuple[Project, DefinedSource]]":
    """Find the project of each source; a source of an unknown one failed."""
    from pipeline.sources.definition_files import FailedSource
    from pipeline.store.catalog.errors import CatalogError

    found = []
    for one in definitions:
        try:
            found.append((target_of(one, catalog), one))
        except CatalogError as error:
            ended.failed.append(FailedSource(name=one.name, error=str(error)))
    return found


def _import_here(definitions: "Sequence[DefinedSource]", data_dir: Path, target_of: "TargetOf") -> _Ended:
    """Import in this process, which owns the store meanwhile."""
    from pipeline.runs.import_work import failure_of, is_still_running, judge
    from pipeline.runs.own_imports import import_own_source
    from pipeline.runs.run_ends import UNEXPECTED

    ended = _Ended()
    with opened_store(data_dir) as store:
        running: list[bool] = []
        for target, defined in _targets(definitions, store.catalog, target_of, ended):
            try:
                with progress() as bar:
                    size = sum(table.size for table in defined.tables())
                    show = partial(show_storing, bar, bar.add_task(defined.name, total=size or None))
                    ended.done.append((target, import_own_source(store, target, defined, show)))
                running.append(is_still_running(defined.source))
            except Exception as error:  # noqa: BLE001 - one source never hides the others
                ended.failed.append(failure_of(defined, error))
                if ended.failed[-1].error == UNEXPECTED:
                    traceback.print_exception(error)
        for project_id in dict.fromkeys(target.id for target, _ in ended.done):
            store.rollup.refresh(project_id)
        for (target, imported), goes_on in zip(ended.done, running, strict=True):
            ended.reported += judge(store, target, imported.experiments, running=goes_on)
    return ended


def _import_there(
    service: "RunningService", definitions: "Sequence[DefinedSource]", target_of: "TargetOf"
) -> _Ended:
    """Leave the sources to the service: those of one project after another in one import."""
    from api.cli.imports.service_imports import import_there
    from pipeline.runs.command_imports import CommandImport, SourceToImport

    ended = _Ended()
    with opened_catalog(service.settings.data_dir) as catalog:
        targets = _targets(definitions, catalog, target_of, ended)
    for _, part in groupby(targets, key=lambda pair: pair[0].id):
        pairs = list(part)
        target = pairs[0][0]
        left = CommandImport(project_id=target.id, sources=tuple(SourceToImport.of(one) for _, one in pairs))
        outcome, ended.error = import_there(service, target, left, ", ".join(one.name for _, one in pairs))
        ended.done.extend((target, one) for one in outcome.sources)
        ended.failed += outcome.failed
        ended.reported += outcome.reported
        if ended.error is not None:
            break
    return ended


def _print_numbers(done: "Sequence[Done]", failed: "Sequence[FailedSource]", *, as_json: bool) -> None:
    """Print the numbers of imported sources, and their rejected rows."""
    for target, imported in done:
        print_bad_rows(imported.imported, several=True)
        if not as_json:
            numbers = rows_and_events(imported.imported)
            if imported.sums is not None:
                rows = imported.imported.known_rows
                numbers = f"{rows:,} rows were counted where they are, and {imported.sums:,} sums came back."
            line = f"{imported.name}: {numbers} Project {target.name} ({target.id})."
            out.print(line, soft_wrap=True, highlight=False)
    if as_json:
        sources = [_summary(target, imported) for target, imported in done]
        print_json(
            {"sources": sources, "failed": [{"source": one.name, "error": one.error} for one in failed]}
        )


def _summary(target: "Project", imported: "ImportedSource") -> dict[str, Any]:
    import msgspec

    return {
        "source": imported.name,
        "project_id": target.id,
        "experiment_ids": [one.id for one in imported.experiments],
        **imported.imported.numbers,
        "watermark": msgspec.to_builtins(imported.watermark),
    }
