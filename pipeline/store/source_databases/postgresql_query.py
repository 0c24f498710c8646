"""PostgreSQL of others: a query's rows by a cursor of the server, in one snapshot."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import polars as pl
import psycopg
from psycopg.types.string import TextLoader

from pipeline.store.source_databases.queries import (
    Query,
    RunStatement,
    SourceDatabaseError,
    TimeLimit,
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
# A server that does not answer any more is given up, and one ends the statement of a process that was killed.
_KEEPALIVE: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_CHECK_CLIENT: Final = "SET client_connection_check_interval = '10s'"
# Errors of a connection, of a server that restarts, and of one with too many sessions or a deadlock.
_LOST: Final = ("08", "57P", "40", "53300")
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
    limit = TimeLimit.of(query)
    try:
        with _connected(url, query) as connection, connection.cursor("truelift_import") as cursor:
            cursor.itersize = rows
            cursor.execute(_statement(connection, query, columns).encode())
            while True:
                found = cursor.fetchmany(rows)
                # Without rows at all, the columns are told all the same.
                yield _frame(cursor, found)
                if len(found) < rows:
                    return
                if limit is not None and limit.is_over:
                    raise limit.error
    except psycopg.Error as error:
        if limit is not None and isinstance(error, psycopg.errors.QueryCanceled) and limit.is_over:
            raise limit.error from None
        raise SourceDatabaseError(_sentence(error, url), is_lost=_is_lost(error)) from None


@contextmanager
def postgresql_session(url: str, query: Query) -> Iterator[RunStatement]:
    """Run statements that write, in one transaction, with the limits and the comment of a query.

    Values are texts. Nothing is kept of a transaction that fails.

    Raises:
        SourceDatabaseError: the server cannot be reached, or refuses a statement.
    """
    limit = TimeLimit.of(query)
    try:
        with _connected(url, query) as connection, connection.cursor() as cursor:
            connection.read_only = False

            def run(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(f"{query.remark}{sql}".encode())
                return cursor.fetchall() if cursor.description else []

            yield run
    except psycopg.Error as error:
        if limit is not None and isinstance(error, psycopg.errors.QueryCanceled) and limit.is_over:
            raise limit.error from None
        raise SourceDatabaseError(_sentence(error, url), is_lost=_is_lost(error)) from None


def _is_lost(error: psycopg.Error) -> bool:
    """Tell whether the connection ended, or never began."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_LOST)


def _statement(connection: psycopg.Connection[Any], query: Query, columns: Sequence[str] | None) -> str:
    """Build the SELECT of the wanted columns, so that no others are sent."""
    # The line break ends a comment at the end of the query.
    rows = f"FROM ({query.statement}\n) AS named"
    with connection.cursor() as described:
        described.execute(f"{query.remark}SELECT * {rows} LIMIT 0".encode())
        found = [column.name for column in described.description or ()]
    if len(set(found)) != len(found):
        raise SourceDatabaseError("the query has two columns of one name; rename one with AS")
    chosen, most_rows = columns_to_read(found, columns, None)
    limit = "" if most_rows is None else f" LIMIT {most_rows}"
    return f"{query.remark}SELECT {', '.join(map(quoted_name, chosen))} {rows}{limit}"


def _connected(url: str, query: Query) -> psycopg.Connection[Any]:
    # The URL's own limit stands before this one.
    parameters = {"connect_timeout": _CONNECT_SECONDS, **_KEEPALIVE, **psycopg.conninfo.conninfo_to_dict(url)}
    connection = psycopg.connect(psycopg.conninfo.make_conninfo("", **parameters), autocommit=True)
    try:
        idle = f"SET idle_in_transaction_session_timeout = '{_IDLE_LIMIT}'"
        # A cursor's rows are fetched by statements that have no comment; names have 63 characters.
        named = [f"SET application_name = '{query.comment_text[:63]}'"] if query.comment else []
        for statement in (*_SESSION, idle, *named, *query.session):
            connection.execute(statement.encode())
        # Servers before 14, and those on some systems, cannot.
        with suppress(psycopg.errors.UndefinedObject, psycopg.errors.InvalidParameterValue):
            connection.execute(_CHECK_CLIENT.encode())
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
