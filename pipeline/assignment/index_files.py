"""Files of assignment indexes: two a project, one of all older pairs and a smaller one of those since.

Each holds everything up to one event, is replaced at once or not at all, and is no more than a copy: a file
that is missing, damaged, of an earlier format or of another store only means that events are read again.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.typed_records import record_from_json
from pipeline.assignment.sorted_pairs import Pairs
from pipeline.store.private_files import make_private_folder, sync_folder
from pipeline.store.warehouse.visitor_history import AssignmentRule, EventMark

logger = logging.getLogger(__name__)

FORMAT: Final = 1
_CONTENTS: Final = "contents"
_COLUMNS: Final = ("keys", "values", "places")
# By the name of a table.
Tables: TypeAlias = Mapping[str, tuple[Pairs, ...]]


class IndexHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Header of a file: the store that it belongs to, the events that it holds, and the rules of its numbers.

    `base` is the id of the larger file; the smaller one holds what came after that.
    """

    format: int = FORMAT
    warehouse: str
    project: str
    base: str
    newest: EventMark
    next_number: int
    rules: dict[int, AssignmentRule]


class _Contents(msgspec.Struct, frozen=True):
    """All that a file tells: its header, and how many pages each table has."""

    header: IndexHeader
    pages: dict[str, int]


class IndexFiles:
    """The files of all projects of one store, in a folder of their own."""

    def __init__(self, folder: Path, warehouse_id: str) -> None:
        """Name the folder, which is created with the first file."""
        self.folder = folder
        self.warehouse_id = warehouse_id

    def stored_projects(self) -> list[str]:
        """List the projects that have files, those with large ones last."""
        sizes = {path.name.partition(".")[0]: path.stat().st_size for path in self.folder.glob("*.base.npz")}
        return sorted(sizes, key=sizes.__getitem__)

    def write_base(self, header: IndexHeader, tables: Tables) -> None:
        """Replace the larger file, and remove the smaller one, which belonged to the former; OSError."""
        self._write(self._base(header.project), header, tables)
        self._delta(header.project).unlink(missing_ok=True)

    def write_delta(self, header: IndexHeader, tables: Tables) -> None:
        """Replace the smaller file; OSError."""
        self._write(self._delta(header.project), header, tables)

    def read(self, project_id: str) -> Iterator[tuple[IndexHeader, Tables, Tables]]:
        """Yield the newest header with the tables of both files, then that of the larger one alone."""
        base = self._read(self._base(project_id), project_id)
        if base is None:
            return
        delta = self._read(self._delta(project_id), project_id)
        if delta is not None and delta[0].base == base[0].base:
            yield delta[0], base[1], delta[1]
        yield base[0], base[1], {}

    def remove(self, project_id: str) -> None:
        """Remove the files of a project."""
        for path in self.paths(project_id):
            path.unlink(missing_ok=True)

    def paths(self, project_id: str) -> tuple[Path, Path]:
        """Return where the files of a project are, or would be, the smaller one first."""
        return self._delta(project_id), self._base(project_id)

    def _base(self, project_id: str) -> Path:
        return self.folder / f"{project_id}.base.npz"

    def _delta(self, project_id: str) -> Path:
        return self.folder / f"{project_id}.delta.npz"

    def _write(self, path: Path, header: IndexHeader, tables: Tables) -> None:
        make_private_folder(self.folder)
        unfinished = path.with_suffix(".new")
        arrays: dict[str, Any] = {
            f"{table}.{number}.{name}": column
            for table, pages in tables.items()
            for number, page in enumerate(pages)
            for name, column in zip(_COLUMNS, page, strict=True)
        }
        contents = _Contents(header, {table: len(pages) for table, pages in tables.items()})
        arrays[_CONTENTS] = np.frombuffer(msgspec.json.encode(contents), np.uint8)
        try:
            with unfinished.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            # Before the smaller file is removed, which belongs to the former one.
            sync_folder(self.folder)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise

    def _read(self, path: Path, project_id: str) -> tuple[IndexHeader, Tables] | None:
        """Read and check a file; None where it is of no use."""
        try:
            # Every array has its checksum, which is compared when the array is read.
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                contents = record_from_json(file[_CONTENTS].tobytes(), _Contents)
                header = contents.header
                if (header.format, header.warehouse, header.project) != (
                    FORMAT,
                    self.warehouse_id,
                    project_id,
                ):
                    logger.warning("%s is of another store or version: events are read again", path)
                    return None
                return header, _tables(file, contents.pages)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 - a damaged archive raises nearly anything
            logger.warning("%s is damaged (%s): events are read again", path, error)
            return None


def _tables(file: Mapping[str, Any], pages: Mapping[str, int]) -> Tables:
    return {
        table: tuple(
            Pairs(*(file[f"{table}.{number}.{column}"] for column in _COLUMNS)) for number in range(count)
        )
        for table, count in pages.items()
    }
