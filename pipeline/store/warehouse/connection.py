"""Who may touch the DuckDB file, and how: one owner, short cursors, whole transactions.

How frames go in and out of the warehouse.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

import duckdb
import polars as pl

from pipeline.settings import Settings

# Below 256 MB of log DuckDB would checkpoint in the middle of a commit, which stalls it for 80-390 ms.
CHECKPOINT_THRESHOLD = "256MB"


class WarehouseBusyError(Exception):
    """Another process holds the DuckDB file: it has one owner at a time, readers included."""

    def __init__(self, path: Path) -> None:
        """Say which file, and how to go on."""
        self.path = path
        super().__init__(
            f"{path} is held by another process, most likely `truelift serve` on the same data folder. "
            "Ask the running service over its API, stop it first, or use another data folder."
        )


class Warehouse:
    """The one DuckDB file, opened once; every method may be called from any thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Take over an open connection: `Warehouse.open` is the way to get one."""
        self.path = path
        self._connection = connection
        self._duplicating = threading.Lock()

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open or create the file; what a killed process had committed is read back from its log.

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
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of one's own for one piece of work; each statement commits by itself."""
        # A connection stays busy until its result is read to the end, so no two callers share one.
        with self._duplicating:
            cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside BEGIN … COMMIT: all of it is on disk when the block ends, or none of it."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise

    def ping(self) -> None:
        """Ask the file for an answer; raises what keeps it from giving one."""
        with self.cursor() as cursor:
            cursor.execute("SELECT 1")

    def checkpoint(self) -> None:
        """Move the log into the file, so that the next start has nothing to replay."""
        with self.cursor() as cursor:
            cursor.execute("CHECKPOINT")

    def close(self) -> None:
        """Checkpoint and let go of the file."""
        self._connection.close()


def _configuration(settings: Settings) -> dict[str, str | bool | int | float | list[str]]:
    configuration: dict[str, str | bool | int | float | list[str]] = {
        # Nothing is fetched from the internet behind the operator's back.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "checkpoint_threshold": CHECKPOINT_THRESHOLD,
    }
    if settings.duckdb_memory_limit is not None:
        configuration["memory_limit"] = settings.duckdb_memory_limit
    if settings.duckdb_threads is not None:
        configuration["threads"] = settings.duckdb_threads
    return configuration


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException:
        # A COMMIT that fails has rolled back already.
        return


Cursor: TypeAlias = duckdb.DuckDBPyConnection
# What is raised where a file cannot be written, as in a folder of another user's or on a full disk.
DISK_FAILURES: Final = (OSError, duckdb.IOException)


def copy_to_file(cursor: Cursor, query: str, path: Path, options: str, **values: object) -> int:
    """Write the rows of a query to a file, in the format that `options` name; return how many there are.

    `values` are bound to the parameters of the query, by name.
    """
    statement = f"COPY ({query}) TO $path ({options})"
    return int(cursor.execute(statement, {"path": str(path), **values}).fetchall()[0][0])


@dataclass(frozen=True, slots=True)
class ArrowStream:
    """A frame as an Arrow C stream and nothing else: to read a frame as such DuckDB imports PyArrow."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows anew for every query."""
        # DuckDB refuses columns without a type, which have nulls and no bitmap of them.
        typed = self.frame.cast({pl.Null: pl.Int8}) if pl.Null in self.frame.dtypes else self.frame
        return typed.__arrow_c_stream__(requested_schema)


def fetch_frame(cursor: Cursor, query: str, parameters: Sequence[object] | None = None) -> pl.DataFrame:
    """The rows that a query returns."""
    return pl.DataFrame(cursor.sql(query, params=parameters))


@contextmanager
def registered(cursor: Cursor, name: str, rows: pl.DataFrame) -> Iterator[None]:
    """Let queries read a frame under a name."""
    cursor.register(name, ArrowStream(rows))
    try:
        yield
    except BaseException:
        # In a transaction that is lost even this fails, and would hide what went wrong.
        with suppress(duckdb.Error):
            cursor.unregister(name)
        raise
    cursor.unregister(name)
