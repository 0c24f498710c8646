"""Counts of rows by the hash of their content."""

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered


class ContentCounts:
    """Multiset of hashes in a temporary table on `cursor`.

    It takes 8 bytes a row; DuckDB moves it to disk beyond its memory limit.
    """

    def __init__(self, cursor: Cursor, name: str) -> None:
        """Begin an empty table of that name, which comes from code."""
        self._cursor = cursor
        self._name = name
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} (content UBIGINT)")

    def add(self, contents: pl.Series) -> None:
        """Add a row for each hash (UInt64)."""
        with registered(self._cursor, "added", contents.alias("content").to_frame()):
            self._cursor.execute(f"INSERT INTO {self._name} SELECT content FROM added")

    def count(self, contents: pl.Series) -> pl.Series:
        """Return how often each hash (UInt64) was added, in order."""
        asked = contents.alias("content").to_frame()
        with registered(self._cursor, "asked", asked):
            counted = fetch_frame(
                self._cursor,
                f"SELECT content, count(*)::UBIGINT AS rows FROM {self._name} "
                "SEMI JOIN asked USING (content) GROUP BY content",
            )
        joined = asked.join(counted, on="content", how="left", maintain_order="left")
        return joined["rows"].fill_null(0)
