"""Command `source check`, and the import of described sources."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.console import CommandError, out, print_json, progress
from api.cli.imports.import_report import print_bad_rows, print_report, rows_and_events, show_storing
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_catalog, opened_store, target_project
from pipeline.clock import utc_now

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from engine.design.project import Project
    from pipeline.imports.source_import import ImportedSource
    from pipeline.runs.command_imports import CommandOutcome
    from pipeline.services import PipelineServices
    from pipeline.sources.definition_files import DefinedSource
    from pipeline.store.catalog.catalog import Catalog

    # What was imported, and into which project.
    Done = tuple[Project, ImportedSource]
    # Finds the project of a source in a catalog.
    TargetOf = Callable[[DefinedSource, Catalog], Project]

source = typer.Typer(name="source", help="Described sources of imports.", no_args_is_help=True)


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
    from pipeline.imports.source_check import check_source
    from pipeline.sources.definition_files import read_definitions

    checked = [check_source(one, data_dir, now=utc_now()) for one in read_definitions(files or (), data_dir)]
    if as_json:
        print_json({"sources": [one.as_json() for one in checked]})
        return
    for one in checked:
        fields = one.as_json()
        out.print(f"{one.name}: {one.kind} of {', '.join(one.tables)}", highlight=False)
        for row in one.rows:
            out.print("  " + ", ".join(f"{name} {value}" for name, value in row.items()), highlight=False)
        for bad in one.bad_rows:
            out.print(f"  line {bad.line} is unusable: {bad.reason}", highlight=False)
        if one.warning:
            out.print(f"  {one.warning}", highlight=False)
        for project, mark in fields["watermarks"].items():
            newest, at = mark["newest_at"], mark["imported_at"]
            out.print(f"  {project}: {mark['rows']:,} rows up to {newest}, imported at {at}", highlight=False)


def import_sources(
    files: Sequence[Path], data_dir: Path, project_id: str | None, account_id: str | None, *, as_json: bool
) -> None:
    """Import the sources that files describe, by default those of the data folder, and print the verdicts."""
    from api.cli.client.running_service import find_service
    from pipeline.sources.definition_files import read_definitions

    definitions = read_definitions(files, data_dir)
    service = find_service(data_dir)

    def target_of(defined: "DefinedSource", catalog: "Catalog") -> "Project":
        project = defined.source.project or project_id
        return target_project(catalog, project, account_id=account_id, name_of_new=defined.name)

    if service is None:
        _import_here(definitions, data_dir, target_of, as_json=as_json)
    else:
        _import_there(service, definitions, target_of, as_json=as_json)


def _import_here(
    definitions: "Sequence[DefinedSource]", data_dir: Path, target_of: "TargetOf", *, as_json: bool
) -> None:
    """Import in this process, which owns the store meanwhile."""
    from pipeline.runs.import_work import is_still_running, judge

    with opened_store(data_dir) as store:
        done: list[Done] = []
        try:
            for one in definitions:
                done.append(_import_one(store, one, target_of))  # noqa: PERF401 - kept where a later one fails
        except Exception:
            if done:
                _print_numbers(done, as_json=as_json)
                _refresh(store, done)
            raise
        _print_numbers(done, as_json=as_json)
        _refresh(store, done)
        for defined, (target, imported) in zip(definitions, done, strict=True):
            running = is_still_running(defined.source)
            for found in judge(store, target, imported.experiments, running=running):
                if not as_json:
                    print_report(found.report, found.experiment, data_dir)


def _import_there(
    service: "RunningService",
    definitions: "Sequence[DefinedSource]",
    target_of: "TargetOf",
    *,
    as_json: bool,
) -> None:
    """Leave the sources to the service: those of one project after another in one import."""
    from api.cli.imports.service_imports import import_there
    from pipeline.runs.command_imports import CommandImport, SourceToImport

    data_dir = service.settings.data_dir
    with opened_catalog(data_dir) as catalog:
        targets = [(target_of(one, catalog), one) for one in definitions]
    done: list[Done] = []
    outcomes: list[CommandOutcome] = []
    failure = None
    for _, part in groupby(targets, key=lambda pair: pair[0].id):
        pairs = list(part)
        target = pairs[0][0]
        left = CommandImport(project_id=target.id, sources=tuple(SourceToImport.of(one) for _, one in pairs))
        outcome, failure = import_there(service, target, left, ", ".join(one.name for _, one in pairs))
        done.extend((target, one) for one in outcome.sources)
        outcomes.append(outcome)
        if failure is not None:
            break
    if done or failure is None:
        _print_numbers(done, as_json=as_json)
    if failure is not None:
        raise failure
    for found in (one for outcome in outcomes for one in outcome.reported):
        if not as_json:
            print_report(found.report, found.experiment, data_dir, service_url=service.url)


def _print_numbers(done: "Sequence[Done]", *, as_json: bool) -> None:
    """Print the numbers of imported sources, and their rejected rows."""
    for target, imported in done:
        print_bad_rows(imported.imported, several=True)
        if not as_json:
            numbers = rows_and_events(imported.imported)
            line = f"{imported.name}: {numbers} Project {target.name} ({target.id})."
            out.print(line, soft_wrap=True, highlight=False)
    if as_json:
        print_json({"sources": [_summary(target, imported) for target, imported in done]})


def _refresh(store: "PipelineServices", done: "Sequence[Done]") -> None:
    """Bring the results of the projects up to date."""
    for project in dict.fromkeys(target.id for target, _ in done):
        store.rollup.refresh(project)


def _import_one(store: "PipelineServices", defined: "DefinedSource", target_of: "TargetOf") -> "Done":
    from pipeline.runs.import_work import REFUSALS
    from pipeline.runs.own_imports import import_own_source

    target = target_of(defined, store.catalog)
    try:
        with progress() as bar:
            size = sum(table.size for table in defined.tables())
            task = bar.add_task(defined.name, total=size or None)
            return target, import_own_source(store, target, defined, partial(show_storing, bar, task))
    except REFUSALS as error:
        raise CommandError(f"nothing of the source {defined.name} was imported: {error}") from error


def _summary(target: "Project", imported: "ImportedSource") -> dict[str, Any]:
    import msgspec

    return {
        "source": imported.name,
        "project_id": target.id,
        "experiment_ids": [one.id for one in imported.experiments],
        **imported.imported.numbers,
        "watermark": msgspec.to_builtins(imported.watermark),
    }
