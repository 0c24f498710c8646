"""Tables and queries of databases: DuckDB files, PostgreSQL, and the engines of warehouses."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import polars as pl

from pipeline.sources import tables
from pipeline.sources.disk_files import FileState, changed, state_of
from pipeline.sources.tables import Chunk, UnreadableSourceError, numbered_chunks
from pipeline.store.source_databases.queries import Query, RunStatement, SourceDatabaseError
from pipeline.store.source_databases.warehouse_drivers import DRIVERS

POSTGRESQL: Final = ("postgresql://", "postgres://")
SPARK: Final = ("sc", "spark")
WAREHOUSES: Final = tuple(f"{scheme}://" for scheme in (*SPARK, *DRIVERS))


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """Rows of a query of a DuckDB file, or of a server where `location` is a URL; lines are its rows."""

    location: Path | str
    query: Query
    name: str
    # The number of rows is unknown before they are read.
    size: int = 0

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read chunks of at most 50,000 rows of one snapshot.

        Raises:
            UnreadableSourceError: the database cannot be read, or its file is overwritten while it is open.
        """
        before = self._state()
        try:
            # Whatever ends the import, its error may be kept for long, and with it whatever is still open.
            with closing(self._frames(columns)) as frames:
                for chunk in numbered_chunks(frames, self.name):
                    # All rows of a file are copied by then. DuckDB keeps its own writers out meanwhile, but
                    # not a copy over the file.
                    if not chunk.done and self._state() != before:
                        raise changed(self.name)
                    yield chunk
        except SourceDatabaseError as error:
            if self._state() != before:
                raise changed(self.name) from error
            raise UnreadableSourceError(f"{self.name} cannot be read: {error}") from error

    @contextmanager
    def writing(self) -> Iterator[RunStatement]:
        """Run statements that write, in one transaction, of which nothing is kept if it fails.

        Raises:
            UnreadableSourceError: the database cannot be opened to write, or refuses a statement.
        """
        try:
            with self._session() as run:
                yield run
        except SourceDatabaseError as error:
            raise UnreadableSourceError(f"{self.name} cannot be written to: {error}") from error

    def _session(self) -> AbstractContextManager[RunStatement]:
        if isinstance(self.location, Path):
            from pipeline.store.source_databases.duckdb_file import duckdb_session  # noqa: PLC0415

            return duckdb_session(self.location, self.query)
        if not self.location.startswith(POSTGRESQL):
            raise UnreadableSourceError(f"{self.name} is only read; a state is kept in PostgreSQL and DuckDB")
        try:
            from pipeline.store.source_databases.postgresql_query import postgresql_session  # noqa: PLC0415
        except ImportError:
            raise _without_psycopg() from None
        return postgresql_session(self.location, self.query)

    def _state(self) -> FileState | None:
        """Return the state of the file; None for a server, which reads in one transaction."""
        return state_of(self.location) if isinstance(self.location, Path) else None

    def _frames(self, columns: Sequence[str] | None) -> Generator[pl.DataFrame, None, None]:
        if isinstance(self.location, Path):
            # DuckDB and PyArrow take half of a second to import, which files need not.
            from pipeline.store.source_databases.duckdb_file import read_duckdb_file  # noqa: PLC0415

            return read_duckdb_file(self.location, self.query, rows=tables.CHUNK_ROWS, columns=columns)
        scheme = self.location.partition("://")[0]
        if scheme in SPARK:
            from pipeline.store.source_databases.spark_query import read_spark  # noqa: PLC0415 - an extra

            return read_spark(self.location, self.query, rows=tables.CHUNK_ROWS, columns=columns)
        if driver := DRIVERS.get(scheme):
            from pipeline.store.source_databases.driver_query import read_by_driver  # noqa: PLC0415 - Polars

            address = urlsplit(self.location)
            return read_by_driver(driver, address, self.query, rows=tables.CHUNK_ROWS, columns=columns)
        try:
            from pipeline.store.source_databases.postgresql_query import read_postgresql  # noqa: PLC0415
        except ImportError:
            raise _without_psycopg() from None
        return read_postgresql(self.location, self.query, rows=tables.CHUNK_ROWS, columns=columns)


def _without_psycopg() -> UnreadableSourceError:
    return UnreadableSourceError("reading PostgreSQL needs psycopg: pip install 'truelift[postgres]'")
