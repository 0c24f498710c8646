"""Described sources that a project may import over the API: those of the service's own folder."""

import logging
from contextlib import suppress
from dataclasses import replace

from engine.design.project import Project
from engine.errors import InvalidDesignError, Problem
from pipeline.imports.import_result import ImportStores
from pipeline.runs.command_imports import CommandImport, read_import_left
from pipeline.sources.definition_files import FOLDER, DefinedSource, InvalidSourceError, read_definition
from pipeline.sources.tables import UnreadableSourceError
from pipeline.store.catalog.runs.run_record import Run

logger = logging.getLogger(__name__)


def find_source(store: ImportStores, project: Project, name: str) -> DefinedSource:
    """Find the source of that name that a project may import.

    It names the project, or no project where the store has only one: a key of one customer reads no
    source of another. Every other name gets one answer, so that no customer learns what is described for
    others; the log has the reason.

    Raises:
        InvalidSourceError: there is none, or its file describes no usable source.
    """
    try:
        defined = _read(store, name)
        _require_granted(store, project, defined)
    except InvalidSourceError as error:
        logger.warning("project %s asked for the source %s: %s", project.id, name, error)
        raise InvalidSourceError(
            f"there is no source {name!r} that this project may import; the service's operator describes "
            "sources, and its log says what is wrong with one"
        ) from None
    return defined


def sources_of(store: ImportStores, project: Project) -> list[DefinedSource]:
    """List the usable sources that a project may import, by name."""
    found = []
    for path in sorted((store.settings.data_dir / FOLDER).glob("*.toml")):
        # One that is wrong, or of another project, is told to the operator where it is imported.
        with suppress(InvalidSourceError):
            defined = _read(store, path.stem)
            _require_granted(store, project, defined)
            found.append(defined)
    return found


def _read(store: ImportStores, name: str) -> DefinedSource:
    path = store.settings.data_dir / FOLDER / f"{name}.toml"
    if not path.is_file():
        raise InvalidSourceError("there is no such file")
    return read_definition(path)


def _require_granted(store: ImportStores, project: Project, defined: DefinedSource) -> None:
    owner = defined.source.project
    if owner is None and len(store.catalog.projects.all()) > 1:
        raise InvalidSourceError("it names no project; add project = '…', as the service has several")
    if owner not in {None, project.id}:
        raise InvalidSourceError(f"it is of the project {owner}")


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
