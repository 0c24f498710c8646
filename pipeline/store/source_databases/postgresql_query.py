"""PostgreSQL of others: a query's rows by a cursor of the server, in one snapshot."""

from collections.abc import Generator, Sequence
from typing import Any, Final

import polars as pl
import psycopg
from psycopg.types.string import TextLoader

from pipeline.store.source_databases.queries import (
    Query,
    SourceDatabaseError,
    columns_to_read,
    quoted_name,
)

_CONNECT_SECONDS: Final = 10
_SESSION: Final = (
    "SET client_encoding = 'UTF8'",
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO'",
    "SET IntervalStyle = 'iso_8601'",
    # Rows come in the same order each time.
    "SET synchronize_seqscans = off",
    "SET max_parallel_workers_per_gather = 0",
    "SET application_name = 'truelift import'",
)
# The server ends a session that asks for no further rows for so long, so that it holds up no other session.
_IDLE_LIMIT: Final = "60s"
_WHOLE: Final = ("int2", "int4", "int8", "oid")
_TIMES: Final = {
    "timestamp": ("%Y-%m-%d %H:%M:%S%.f", None),
    "timestamptz": ("%Y-%m-%d %H:%M:%S%.f%#z", "UTC"),
}


def read_postgresql(
    url: str, query: Query, *, rows: int, columns: Sequence[str] | None = None
) -> Generator[pl.DataFrame, None, None]:
    """Yield the rows of a query as frames of at most so many rows, of one snapshot of the database.

    They have the `columns`, or all without any; where one is missing, there are all, and no rows.
    Whole numbers, doubles, booleans, dates and times have their types, every other value is text.

    Raises:
        SourceDatabaseError: the server cannot be reached, or refuses the query.
    """
    try:
        with _connected(url) as connection, connection.cursor("truelift_import") as cursor:
            cursor.itersize = rows
            cursor.execute(_statement(connection, query, columns).encode())
            while True:
                found = cursor.fetchmany(rows)
                # Without rows at all, the columns are told all the same.
                yield _frame(cursor, found)
                if len(found) < rows:
                    return
    except psycopg.Error as error:
        raise SourceDatabaseError(_sentence(error, url)) from None


def _statement(connection: psycopg.Connection[Any], query: Query, columns: Sequence[str] | None) -> str:
    """Build the SELECT of the wanted columns, so that no others are sent."""
    # The line break ends a comment at the end of the query.
    rows = f"FROM ({query.statement}\n) AS named"
    with connection.cursor() as described:
        described.execute(f"SELECT * {rows} LIMIT 0".encode())
        found = [column.name for column in described.description or ()]
    if len(set(found)) != len(found):
        raise SourceDatabaseError("the query has two columns of one name; rename one with AS")
    chosen, most_rows = columns_to_read(found, columns, None)
    limit = "" if most_rows is None else f" LIMIT {most_rows}"
    return f"SELECT {', '.join(map(quoted_name, chosen))} {rows}{limit}"


def _connected(url: str) -> psycopg.Connection[Any]:
    # The URL's own limit stands before this one.
    parameters = {"connect_timeout": _CONNECT_SECONDS, **psycopg.conninfo.conninfo_to_dict(url)}
    connection = psycopg.connect(psycopg.conninfo.make_conninfo("", **parameters), autocommit=True)
    try:
        for statement in (*_SESSION, f"SET idle_in_transaction_session_timeout = '{_IDLE_LIMIT}'"):
            connection.execute(statement.encode())
    except psycopg.Error:
        connection.close()
        raise
    connection.autocommit = False
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    for known in connection.adapters.types:
        for oid in filter(None, (known.oid, known.array_oid)):
            connection.adapters.register_loader(oid, TextLoader)
    return connection


def _frame(cursor: psycopg.ServerCursor[Any], rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    description = cursor.description or ()
    values = list(zip(*rows, strict=True)) or [()] * len(description)
    texts = [
        pl.Series(column.name, texts, pl.String) for column, texts in zip(description, values, strict=True)
    ]
    kinds = [cursor.adapters.types.get(column.type_code) for column in description]
    typed = [
        # Arrays are known by the type of their elements, too.
        _typed(pl.col(column.name), kind.name if kind and kind.oid == column.type_code else "")
        for column, kind in zip(description, kinds, strict=True)
    ]
    return pl.DataFrame(texts).select(typed)


def _typed(column: pl.Expr, kind: str) -> pl.Expr:
    """Convert the text of a value; times such as `infinity` become null."""
    if kind in _WHOLE:
        return column.cast(pl.Int64)
    if kind in {"float4", "float8"}:
        return column.cast(pl.Float64, strict=False)
    if kind == "bool":
        return column == "t"
    if kind == "date":
        return column.str.to_date("%Y-%m-%d", strict=False)
    if kind in _TIMES:
        form, zone = _TIMES[kind]
        return column.str.to_datetime(form, time_unit="us", time_zone=zone, strict=False)
    return column


def _sentence(error: psycopg.Error, url: str) -> str:
    """Take the first line of an error, unless it is about the URL, which may have a password."""
    text = str(error).strip().partition("\n")[0]
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "the URL is not one of PostgreSQL; write postgresql://user@host/database"
    try:
        password = str(psycopg.conninfo.conninfo_to_dict(url).get("password") or "")
    except psycopg.Error:
        password = ""
    return text.replace(password, "***") if password else text
