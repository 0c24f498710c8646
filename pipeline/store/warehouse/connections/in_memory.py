"""Databases in memory, for work on rows that no store has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Cursor, configuration


@contextmanager
def in_memory(folder: Path) -> Iterator[Cursor]:
    """Open a database of one thread, which puts into `folder` what exceeds its share of the memory."""
    settings = configuration(Settings(data_dir=folder, duckdb_threads=1))
    with duckdb.connect(":memory:", config={**settings, "temp_directory": str(folder)}) as cursor:
        cursor.execute("SET GLOBAL TimeZone = 'UTC'")
        yield cursor
