"""DuckDB files of others, opened for reading only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from pipeline.store.source_databases.queries import Query, SourceDatabaseError

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


def read_duckdb_file(path: Path, query: Query, *, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a query as frames of at most so many rows, as of one state of the file.

    Raises:
        SourceDatabaseError: the file cannot be opened, or refuses the query.
    """
    try:
        connection = duckdb.connect(str(path), read_only=True, config=_CONFIGURATION)
    except duckdb.Error as error:
        raise SourceDatabaseError(_sentence(error)) from error
    with connection:
        try:
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            # The line break ends a comment at the end of the query.
            statement = _qualified(connection, query).statement
            reader = connection.sql(f"SELECT * FROM ({statement}\n)").to_arrow_reader(rows)
            yield pl.DataFrame(reader.schema.empty_table())
            for batch in reader:
                yield pl.DataFrame(batch)
        except (duckdb.Error, OSError, ValueError) as error:
            # An error in the middle of the rows comes from Arrow's reader, as one of these.
            raise SourceDatabaseError(_sentence(error)) from error


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
    return Query(table=f"{schema}.{schema}.{table}") if same else query


def _sentence(error: Exception) -> str:
    return str(error).partition("\n")[0]
