"""Files that describe sources: found, read, and refused in one sentence."""

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pipeline.sources.definition import Source
from pipeline.sources.locations import find_tables, with_variables
from pipeline.sources.tables import Table, UnreadableSourceError
from pipeline.sources.warehouse_definition import WarehouseSource, source_from

# Folder of the data folder whose files are imported by default.
FOLDER: Final = "sources"


class InvalidSourceError(Exception):
    """A file that describes no usable source; the message names the file and every problem."""


@dataclass(frozen=True, slots=True)
class DefinedSource:
    """A source with the name and the folder of its file."""

    name: str
    folder: Path
    source: Source

    def with_variables(self) -> "DefinedSource":
        """Replace the variables of its locations by their values; UnreadableSourceError."""
        found = tuple(with_variables(one) for one in self.source.locations)
        location = found if isinstance(self.source.location, tuple) else found[0]
        return replace(self, source=self.source.model_copy(update={"location": location}))

    def tables(self, *, newest_at: datetime | None = None, most_rows: int | None = None) -> list[Table]:
        """Find its tables as they are now, after an import up to `newest_at`; UnreadableSourceError.

        Of a database `most_rows` are enough, where given. Those of a warehouse are not read.
        """
        if isinstance(self.source, WarehouseSource):
            return []
        try:
            query = self.source.query(self.folder, newest_at=newest_at)
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableSourceError(f"{self.source.sql_file} cannot be read: {error}") from error
        except ValueError as error:
            raise UnreadableSourceError(f"{self.name}: {error}") from error
        if query is not None:
            query = replace(query, most_rows=most_rows)
        return find_tables(self.source.locations, query=query, base=self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSource:
    """A source that was not imported: its name, and why; `is_refused` where none of its rows was stored."""

    name: str
    error: str
    is_refused: bool = True

    @property
    def sentence(self) -> str:
        """What became of its rows, and why."""
        if self.is_refused:
            return f"nothing of the source {self.name} was imported: {self.error}"
        return (
            f"the import of the source {self.name} ended early, and the same command completes it: "
            f"{self.error}"
        )


def read_definition(path: Path) -> DefinedSource:
    """Read a file that describes a source; InvalidSourceError."""
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSourceError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidSourceError(f"{path.name} is no TOML: {error}") from error
    try:
        return DefinedSource(path.stem, path.parent, source_from(fields))
    except ValidationError as error:
        problems = map(_sentence, error.errors(include_url=False, include_context=False))
        raise InvalidSourceError(f"{path.name}: {'; '.join(dict.fromkeys(problems))}") from None


def read_definitions(paths: Sequence[Path], data_dir: Path) -> tuple[list[DefinedSource], list[FailedSource]]:
    """Read the files at `paths`, or those of the data folder without any: the sources, and wrong files.

    InvalidSourceError where there is no file at all, or two have one name.
    """
    folder = data_dir / FOLDER
    found = list(paths) or sorted(folder.glob("*.toml"))
    if not found:
        raise InvalidSourceError(
            f"no source is described in {folder}; name a file to import, or describe one"
        )
    if len({path.stem for path in found}) < len(found):
        raise InvalidSourceError("two of the sources have one name; rename a file")
    definitions, failed = [], []
    for path in found:
        try:
            definitions.append(read_definition(path))
        except InvalidSourceError as error:
            failed.append(FailedSource(name=path.stem, error=str(error)))
    # Exposures first, as they create the experiments; the results are the same in any order.
    return sorted(definitions, key=lambda one: one.source.kind == "events"), failed


def event_sources_beside(defined: DefinedSource, project_id: str) -> list[str]:
    """Name the sources of events that the folder of a source describes for the project, or for any."""
    found = []
    for path in sorted(defined.folder.glob("*.toml")):
        # One that is wrong is told where it is imported.
        with suppress(InvalidSourceError):
            source = read_definition(path).source
            if source.kind == "events" and source.project in {None, project_id}:
                found.append(path.stem)
    return found


def _sentence(problem: ErrorDetails) -> str:
    # A location has one type of two, which are told apart by a part of the place.
    place = ".".join(
        str(part) for part in problem["loc"] if not str(part).startswith(("constrained", "tuple"))
    )
    if problem["type"] == "missing":
        return f"{place} is missing"
    if problem["type"] == "extra_forbidden":
        return f"{place} is no key of a source"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
