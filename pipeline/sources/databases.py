"""Tables and queries of databases: DuckDB files and PostgreSQL."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipeline.sources import tables
from pipeline.sources.disk_files import FileState, changed, state_of
from pipeline.sources.tables import Chunk, UnreadableSourceError, numbered_chunks
from pipeline.store.source_databases.duckdb_file import read_duckdb_file
from pipeline.store.source_databases.queries import Query, SourceDatabaseError


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """Rows of a query of a DuckDB file, or of PostgreSQL where `location` is a URL; lines are its rows."""

    location: Path | str
    query: Query
    name: str
    # The number of rows is unknown before they are read.
    size: int = 0

    def read(self) -> Iterator[Chunk]:
        """Read chunks of at most 50,000 rows of one snapshot.

        Raises:
            UnreadableSourceError: the database cannot be read, or its file is overwritten meanwhile.
        """
        before = self._state()
        try:
            yield from numbered_chunks(self._frames(), self.name)
        except SourceDatabaseError as error:
            if self._state() != before:
                raise changed(self.name) from error
            raise UnreadableSourceError(f"{self.name} cannot be read: {error}") from error
        # DuckDB keeps its own writers out, but not a copy over the file.
        if self._state() != before:
            raise changed(self.name)

    def _state(self) -> FileState | None:
        """Return the state of the file; None for a server, which reads in one transaction."""
        return state_of(self.location) if isinstance(self.location, Path) else None

    def _frames(self) -> Iterator[pl.DataFrame]:
        if isinstance(self.location, Path):
            return read_duckdb_file(self.location, self.query, rows=tables.CHUNK_ROWS)
        try:
            from pipeline.store.source_databases.postgresql_query import read_postgresql  # noqa: PLC0415
        except ImportError:
            raise UnreadableSourceError(
                "reading PostgreSQL needs psycopg: pip install 'truelift[postgres]'"
            ) from None
        return read_postgresql(self.location, self.query, rows=tables.CHUNK_ROWS)
