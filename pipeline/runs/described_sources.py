"""Described sources that a project may import over the API: those of the service's own folder."""

from dataclasses import replace

from engine.design.project import Project
from engine.errors import InvalidDesignError, Problem
from pipeline.imports.import_result import ImportStores
from pipeline.runs.command_imports import CommandImport, read_import_left
from pipeline.sources.definition_files import FOLDER, DefinedSource, InvalidSourceError, read_definition
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.catalog.runs.run_record import Run


def find_source(store: ImportStores, project: Project, name: str) -> DefinedSource:
    """Find the source of that name that a project may import.

    It names the project, or no project where the store has only one: a key of one customer reads no
    source of another.

    Raises:
        InvalidSourceError: there is none, or its file describes no usable source.
    """
    path = store.settings.data_dir / FOLDER / f"{name}.toml"
    missing = f"there is no source {name!r} for this project in the folder {FOLDER} of the service"
    if not path.is_file():
        raise InvalidSourceError(missing)
    try:
        defined = read_definition(path)
    except InvalidSourceError:
        # What is wrong with it may be another customer's.
        raise InvalidSourceError(
            f"{path.name} describes no usable source; `truelift source check` says why"
        ) from None
    owner = defined.source.project
    if owner is None and len(store.catalog.projects.all()) > 1:
        raise InvalidSourceError(
            f"{path.name} names no project; add project = '…', as the service has several"
        )
    if owner is not None and owner != project.id:
        raise InvalidSourceError(missing)
    return defined


def with_origin(store: ImportStores, project: Project, run: Run) -> Run:
    """Return the run with the names of what a command left.

    Raises InvalidDesignError where that, or the source of the run, is not the project's.
    """
    if "source" in run.parameters:
        try:
            find_source(store, project, run.parameters["source"])
        except InvalidSourceError as error:
            raise InvalidDesignError([Problem("source", str(error))]) from None
        return run
    left = _left(store, run.parameters["command_file"])
    if left is None or left.project_id != project.id:
        raise InvalidDesignError([Problem("command_file", "no command left it for this project")])
    return replace(run, parameters={**run.parameters, "names": left.names})


def _left(store: ImportStores, file: str) -> CommandImport | None:
    try:
        return read_import_left(store.settings, file)
    except UnreadableSourceError:
        return None
