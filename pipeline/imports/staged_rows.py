"""Rows of an import on disk, from reading them until all of them are known to be usable.

Each table is so read once, however it changes, and nothing of an unusable one is stored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl

from pipeline.imports.import_result import ImportStores
from pipeline.store.private_files import make_private_folder
from pipeline.store.warehouse.connection import Warehouse


class StagedChunk(NamedTuple):
    """Rows of the table of that name, and the progress of reading as of a Chunk."""

    table: str
    rows: pl.DataFrame
    done: int


class StagedRows:
    """Chunks of rows in files, read back in order and as often as needed."""

    def __init__(self, folder: Path, warehouse: Warehouse) -> None:
        """Begin with an empty folder on the disk of the warehouse."""
        self._folder = folder
        self._warehouse = warehouse
        # Without their rows.
        self._chunks: list[StagedChunk] = []

    def add(self, chunk: StagedChunk) -> None:
        """Write a chunk; DiskFullError where the disk has no room for it."""
        self._warehouse.require_space(more_bytes=int(chunk.rows.estimated_size()))
        # Most columns of events are null in all rows of a chunk; the first one keeps the number of rows.
        filled = [
            column.name
            for place, column in enumerate(chunk.rows)
            if place == 0 or column.null_count() < len(column)
        ]
        chunk.rows.select(filled).write_ipc(self._path(len(self._chunks)), compression="lz4")
        self._chunks.append(chunk._replace(rows=chunk.rows.clear()))

    def __iter__(self) -> Iterator[StagedChunk]:
        """Read the chunks in the order in which they were added."""
        for number, chunk in enumerate(self._chunks):
            filled = pl.read_ipc(self._path(number))
            schema = chunk.rows.schema
            nulls = [
                pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in filled.columns
            ]
            yield chunk._replace(rows=filled.with_columns(nulls).select(*schema))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrow"


@contextmanager
def staged_rows(store: ImportStores) -> Iterator[StagedRows]:
    """Stage rows in a folder of the store that is removed at the end, or at the next start."""
    parent = store.settings.staged_imports_path
    make_private_folder(parent)
    with TemporaryDirectory(dir=parent) as folder:
        yield StagedRows(Path(folder), store.warehouse)
