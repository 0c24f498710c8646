"""How frames go in and out of the warehouse."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import duckdb
import polars as pl

Cursor: TypeAlias = duckdb.DuckDBPyConnection


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
    finally:
        cursor.unregister(name)
