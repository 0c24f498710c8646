"""The DuckDB file: one owning process, short-lived cursors, transactions, exchange of frames."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self, TypeAlias

import duckdb
import polars as pl

from pipeline.settings import Settings
from pipeline.store.warehouse.arrow_streams import FrameStream, QueryStream

Cursor: TypeAlias = duckdb.DuckDBPyConnection
# Errors of writing a file, such as a full disk or missing permissions.
DISK_FAILURES: Final = (OSError, duckdb.IOException)
# With less than 256 MB of log DuckDB checkpoints during commits, which stalls them for 80-390 ms.
CHECKPOINT_THRESHOLD = "256MB"


class WarehouseBusyError(Exception):
    """The DuckDB file is held by another process; it has one owner at a time, readers included."""

    def __init__(self, path: Path) -> None:
        """Name the file and the ways to continue."""
        self.path = path
        super().__init__(
            f"{path} is held by another process, most likely `truelift serve` on the same data folder. "
            "Ask the running service over its API, stop it first, or use another data folder."
        )


class Warehouse:
    """The DuckDB file, opened once; all methods are thread-safe."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Take over an open connection; use `Warehouse.open` instead."""
        self.path = path
        self._connection = connection
        self._duplicating = threading.Lock()

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open or create the file; commits of a killed process are replayed from its log.

        Raises WarehouseBusyError while another process holds the file.
        """
        path = settings.warehouse_path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = duckdb.connect(str(path), config=_configuration(settings))
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise
            raise WarehouseBusyError(path) from error
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        return cls(connection, path)

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Open a connection for one piece of work; each statement commits by itself."""
        # A connection is busy until its result is read to the end, so callers never share one.
        with self._duplicating:
            cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Open a cursor in a transaction: all of it is on disk when the block ends, or none of it."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise

    def ping(self) -> None:
        """Run a trivial query; raise the error that prevents it."""
        with self.cursor() as cursor:
            cursor.execute("SELECT 1")

    def checkpoint(self) -> None:
        """Move the log into the file, so that the next start has nothing to replay."""
        with self.cursor() as cursor:
            cursor.execute("CHECKPOINT")

    def close(self) -> None:
        """Checkpoint and release the file."""
        self._connection.close()


def _configuration(settings: Settings) -> dict[str, str | bool | int | float | list[str]]:
    configuration: dict[str, str | bool | int | float | list[str]] = {
        # Nothing is downloaded unless the operator asks for it.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "checkpoint_threshold": CHECKPOINT_THRESHOLD,
    }
    if settings.duckdb_memory_limit is not None:
        configuration["memory_limit"] = settings.duckdb_memory_limit
    if settings.duckdb_threads is not None:
        configuration["threads"] = settings.duckdb_threads
    return configuration


def _roll_back(cursor: Cursor) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException:
        # A failed COMMIT has rolled back already.
        return


def copy_to_file(cursor: Cursor, query: str, path: Path, options: str, **values: object) -> int:
    """Write the rows of a query to a file, in the format that `options` name; return how many there are.

    `values` are bound to the parameters of the query, by name.
    """
    statement = f"COPY ({query}) TO $path ({options})"
    return int(cursor.execute(statement, {"path": str(path), **values}).fetchall()[0][0])


def fetch_frame(cursor: Cursor, query: str, parameters: Sequence[object] | None = None) -> pl.DataFrame:
    """Run a query and return its rows as a frame."""
    return pl.DataFrame(QueryStream(cursor.sql(query, params=parameters)))


@contextmanager
def registered(cursor: Cursor, name: str, rows: pl.DataFrame) -> Iterator[None]:
    """Make a frame available to queries under a name, inside the block."""
    cursor.register(name, FrameStream(rows))
    try:
        yield
    except BaseException:
        # In a failed transaction this fails too, and would hide the first error.
        with suppress(duckdb.Error):
            cursor.unregister(name)
        raise
    cursor.unregister(name)
