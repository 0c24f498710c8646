"""Imports that a command leaves to the service of the same data folder: what to import, and the outcome."""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.typed_records import record_from_json
from pipeline.imports.import_result import Imported
from pipeline.imports.source_import import ImportedSource
from pipeline.imports.visitor_rows import VisitorColumns
from pipeline.settings import Settings
from pipeline.sources.definition_files import DefinedSource, FailedSource
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.warehouse_definition import source_from
from pipeline.store.private_files import OWNERS_FILE, make_private_folder, remove_files, write_for_owner
from pipeline.store.source_databases.queries import Query

_OUTCOME: Final = ".outcome"
FileT = TypeVar("FileT", bound="CommandImport | CommandOutcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesToImport:
    """Locations, all of them absolute, and their meaning: events where there are no columns of visitors."""

    locations: tuple[str, ...]
    query: Query | None
    columns: VisitorColumns | None
    name: str
    control: str = ""
    running: bool = False
    max_bad_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceToImport:
    """A described source: the name and the folder of its file, and what the file says."""

    name: str
    folder: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, defined: DefinedSource) -> "SourceToImport":
        """Describe a source, with the values of the variables that the command's environment has."""
        with suppress(UnreadableSourceError):
            defined = defined.with_variables()
        fields = defined.source.model_dump(mode="json", exclude_defaults=True)
        return cls(name=defined.name, folder=str(defined.folder.resolve()), fields=fields)

    @property
    def defined(self) -> DefinedSource:
        """The source as it was."""
        return DefinedSource(self.name, Path(self.folder), source_from(self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandImport:
    """An import into one project: files that are read as one, or sources one after the other."""

    project_id: str
    files: FilesToImport | None = None
    sources: tuple[SourceToImport, ...] = ()

    @property
    def names(self) -> str:
        """The name of the files, or those of the sources."""
        return self.files.name if self.files is not None else ", ".join(one.name for one in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedExperiment:
    """An experiment that an import filled, and its report then."""

    experiment: Experiment
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """Outcome for the command: what was imported, and the experiments that it judges.

    `failed` are the sources that were not imported, or not whole; those after them were tried all the same.
    """

    files: Imported | None = None
    sources: tuple[ImportedSource, ...] = ()
    reported: tuple[ReportedExperiment, ...] = ()
    failed: tuple[FailedSource, ...] = ()


def leave_import(settings: Settings, file: str, left: CommandImport) -> None:
    """Write what to import into a new file of that name, for the owner of the data folder only; OSError."""
    make_private_folder(settings.command_imports_path)
    write_for_owner(settings.command_imports_path, file, msgspec.json.encode(left))


def read_import_left(settings: Settings, file: str) -> CommandImport:
    """Read what a command left; UnreadableSourceError where it is gone, or the file is no such import."""
    try:
        return _read(settings.command_imports_path / file, CommandImport)
    except OSError as error:
        raise UnreadableSourceError(f"there is no import {file} left by a command") from error
    except msgspec.DecodeError as error:
        raise UnreadableSourceError(f"{file} is no import left by a command, or not a whole one") from error


def project_of_imports_left(settings: Settings) -> dict[str, str]:
    """Return the id of the project of each whole import that a command left, by the name of its file."""
    found = {}
    for path in settings.command_imports_path.glob("*"):
        # Outcomes, and files that are being written, are no imports.
        with suppress(UnreadableSourceError):
            found[path.name] = read_import_left(settings, path.name).project_id
    return found


def write_outcome(settings: Settings, file: str, outcome: CommandOutcome) -> None:
    """Write the outcome beside what was asked for; OSError."""
    _write(settings.command_imports_path / f"{file}{_OUTCOME}", outcome)


def read_outcome(settings: Settings, file: str) -> CommandOutcome:
    """Read the outcome of an import that has ended; one that began nothing has an empty outcome."""
    try:
        return _read(settings.command_imports_path / f"{file}{_OUTCOME}", CommandOutcome)
    except FileNotFoundError:
        return CommandOutcome()


def outcome_files(settings: Settings) -> list[Path]:
    """List the files of outcomes that no command has read yet."""
    return sorted(settings.command_imports_path.glob(f"*{_OUTCOME}"))


def remove_import_left(settings: Settings, file: str) -> None:
    """Remove what a command left, which may have secrets; its outcome stays for the command."""
    (settings.command_imports_path / file).unlink(missing_ok=True)


def remove_outcome(settings: Settings, file: str) -> None:
    """Remove the outcome of an import."""
    (settings.command_imports_path / f"{file}{_OUTCOME}").unlink(missing_ok=True)


def remove_old_imports_left(
    settings: Settings, awaited: Collection[str], *, before: datetime | None = None
) -> None:
    """Remove files of imports that are not awaited any more, such as those of commands that were killed.

    Where commands may wait for their outcomes, only those last written `before` a time.
    """
    files = settings.command_imports_path.glob("*")
    remove_files((path for path in files if path.name.removesuffix(_OUTCOME) not in awaited), before=before)


def _write(path: Path, content: CommandImport | CommandOutcome) -> None:
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_FILE)
    with os.fdopen(descriptor, "wb") as file:
        # The days of a report are a sequence of its own.
        file.write(msgspec.json.encode(content, enc_hook=list))
    draft.replace(path)


def _read(path: Path, kind: type[FileT]) -> FileT:
    return record_from_json(path.read_bytes(), kind)
