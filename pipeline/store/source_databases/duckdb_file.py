"""DuckDB files of others, opened for reading only, and closed before their rows are used."""

import errno
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Event, Thread
from typing import IO, Final

import duckdb
import polars as pl

from pipeline.store.source_databases.queries import (
    Query,
    RunStatement,
    SourceDatabaseError,
    TimeLimit,
    columns_to_read,
    quoted_name,
)

# A query that needs more, such as a large sort, goes to disk.
_CONFIGURATION: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": "512 MiB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # The query reads this file, and no other one of the machine.
    "enable_external_access": False,
    # Rows come in the same order each time.
    "threads": 1,
}


_AGAIN_SECONDS: Final = 0.1
# Types that Polars does not read, on their own or within others.
_UNKNOWN_TYPES: Final = ("INTERVAL", "UNION", "TIME WITH TIME ZONE", "BIGNUM", "VARINT")


def read_duckdb_file(
    path: Path, query: Query, *, rows: int, columns: Sequence[str] | None = None
) -> Generator[pl.DataFrame, None, None]:
    """Yield the rows of a query as frames of at most so many rows, as of one state of the file.

    They have the `columns`, or all without any; where one is missing, there are all, and no rows.
    They are copied to a temporary file first, since a file of DuckDB that is open cannot be written to.

    Raises:
        SourceDatabaseError: the file cannot be opened, or refuses the query.
    """
    import pyarrow.ipc  # noqa: PLC0415 - slow, and not needed at a start

    limit = TimeLimit.of(query)
    try:
        with TemporaryFile() as copy:
            _copy_rows(path, query, copy, rows=rows, columns=columns, limit=limit)
            copy.seek(0)
            reader = pyarrow.ipc.open_stream(copy)
            yield pl.DataFrame(reader.schema.empty_table())
            for batch in reader:
                yield pl.DataFrame(batch)
    except (duckdb.Error, OSError, ValueError) as error:
        # An error in the middle of the rows comes from Arrow's reader, as one of these.
        if limit is not None and limit.is_over:
            raise limit.error from error
        raise SourceDatabaseError(_sentence(error)) from error


@contextmanager
def duckdb_session(path: Path, query: Query) -> Iterator[RunStatement]:
    """Run statements that write to a file, in one transaction, with the limits and the comment of a query.

    Raises:
        SourceDatabaseError: the file cannot be opened to write, or refuses a statement; nothing is kept then.
    """
    limit = TimeLimit.of(query)
    configuration = {**_CONFIGURATION, "temp_directory": gettempdir()}
    try:
        with (
            duckdb.connect(str(path), config=configuration) as connection,
            _interrupted(connection, limit),
        ):
            for statement in ("SET GLOBAL TimeZone = 'UTC'", *query.session, "BEGIN"):
                connection.execute(statement)
            yield lambda sql: connection.execute(query.remark + sql).fetchall()
            connection.execute("COMMIT")
    except (duckdb.Error, OSError) as error:
        if limit is not None and limit.is_over:
            raise limit.error from error
        raise SourceDatabaseError(_sentence(error)) from error


def _copy_rows(  # noqa: PLR0913 # what is read, and what becomes of it
    path: Path,
    query: Query,
    copy: IO[bytes],
    *,
    rows: int,
    columns: Sequence[str] | None,
    limit: TimeLimit | None,
) -> None:
    import pyarrow.ipc  # noqa: PLC0415 - slow, and not needed at a start

    # Of itself DuckDB would write beside the file, where nobody expects it.
    configuration = {**_CONFIGURATION, "temp_directory": gettempdir()}
    with (
        duckdb.connect(str(path), read_only=True, config=configuration) as connection,
        _interrupted(connection, limit),
    ):
        for statement in ("SET GLOBAL TimeZone = 'UTC'", *query.session):
            connection.execute(statement)
        # The line break ends a comment at the end of the query.
        found = connection.sql(f"{query.remark}SELECT * FROM ({_qualified(connection, query).statement}\n)")
        chosen, most_rows = columns_to_read(found.columns, columns, query.most_rows)
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        found = found.project(", ".join(_as_known(name, types[name]) for name in chosen))
        if most_rows is not None:
            found = found.limit(most_rows)
        reader = found.to_arrow_reader(rows)
        options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
        with pyarrow.ipc.new_stream(copy, reader.schema, options=options) as writer:
            for batch in reader:
                writer.write_batch(batch)


@contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, limit: TimeLimit | None) -> Iterator[None]:
    """Interrupt what a connection does once its time is over."""
    if limit is None:
        yield
        return
    done = Event()

    def interrupt() -> None:
        # A statement that begins right after an interrupt is not stopped by it.
        wait = limit.seconds
        while not done.wait(wait):
            connection.interrupt()
            wait = _AGAIN_SECONDS

    thread = Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _as_known(name: str, kind: str) -> str:
    """Select a column, as text where it has a type that Polars does not take."""
    quoted = quoted_name(name)
    is_known = not any(unknown in kind for unknown in _UNKNOWN_TYPES)
    return quoted if is_known else f"CAST({quoted} AS VARCHAR) AS {quoted}"


def _qualified(connection: duckdb.DuckDBPyConnection, query: Query) -> Query:
    """Name the table in full where its schema has the name of the file, which is ambiguous otherwise."""
    schema, _, table = (query.table or "").partition(".")
    if not table or "." in table:
        return query
    same = connection.execute(
        """SELECT schema_name FROM duckdb_schemas()
        WHERE database_name = current_database() AND lower(schema_name) = lower(database_name)
        AND lower(schema_name) = lower($1)""",
        [schema],
    ).fetchall()
    return replace(query, table=f"{schema}.{schema}.{table}") if same else query


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"there is no space for a copy of its rows in {gettempdir()}; name another folder in TMPDIR"
    return str(error).partition("\n")[0]
