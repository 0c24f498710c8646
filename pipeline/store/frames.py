"""How frames go in and out of the warehouse."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, TypeAlias

import duckdb
import polars as pl

Cursor: TypeAlias = duckdb.DuckDBPyConnection
# What is raised where a file cannot be written, as in a folder of another user's or on a full disk.
DISK_FAILURES: Final = (OSError, duckdb.IOException)


def fetch_frame(cursor: Cursor, query: str, parameters: Sequence[object] | None = None) -> pl.DataFrame:
    """The rows that a query returns."""
    frame: pl.DataFrame = cursor.sql(query, params=parameters).pl()
    return frame


@contextmanager
def registered(cursor: Cursor, name: str, rows: pl.DataFrame) -> Iterator[None]:
    """Let queries read a frame under a name."""
    cursor.register(name, rows.to_arrow())
    try:
        yield
    except BaseException:
        # In a transaction that is lost even this fails, and would hide what went wrong.
        with suppress(duckdb.Error):
            cursor.unregister(name)
        raise
    cursor.unregister(name)
