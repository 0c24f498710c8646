"""SQLite and PostgreSQL backends: connections, transient errors and locks."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import (
    SQLITE_BUSY,
    SQLITE_CANTOPEN,
    SQLITE_FULL,
    SQLITE_IOERR,
    SQLITE_LOCKED,
)
from sqlite3 import Connection as SqliteConnection
from threading import Lock
from typing import Any, Final, cast

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from pipeline.store.catalog.errors import CatalogBusyError, CatalogError

# As many as the web framework has worker threads.
CONNECTIONS: Final = 40
# Of these, the number that stay open to PostgreSQL while idle.
KEPT: Final = 10
JSON: Final[dict[str, Any]] = {
    "json_serializer": lambda value: msgspec.json.encode(value).decode(),
    "json_deserializer": msgspec.json.decode,
}
# busy_timeout first: switching to WAL waits for other connections only once it is set.
SQLITE_PRAGMAS: Final = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    # A power cut must not undo what was acknowledged, such as the revocation of a key.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # What is erased is overwritten.
    "PRAGMA secure_delete = ON",
)
# Primary result codes; a full disk shows as FULL, IOERR or CANTOPEN, by what SQLite was about to write.
SQLITE_TRANSIENT: Final = (SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN)
# SQLite keeps 32 bits; at the last number, lost commits are no longer noticed.
MAX_COMMIT_NUMBER: Final = 2**31 - 1
# URL scheme → SQLAlchemy's name of the dialect and the driver.
POSTGRESQL_NAMES: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
# Defaults that the URL may override: seconds to connect and until a silent peer is given up, milliseconds to
# wait for a lock, for a statement, and for the next one of a transaction.
POSTGRESQL_DEFAULTS: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "options": (
        "-c lock_timeout=10000 -c statement_timeout=15000 -c idle_in_transaction_session_timeout=60000"
    ),
}
# Seconds to wait for a connection while all are in use.
POOL_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database; `reader` and `writer` share the connections, and differ in how transactions begin."""

    engine: Engine
    reader: Engine
    writer: Engine
    # Held by a writer of this process while its transaction lasts.
    write_lock: AbstractContextManager[Any] = field(default_factory=nullcontext)


def open_backend(url: str, connections: int = CONNECTIONS) -> Backend:
    """Open the database of a URL without connecting, for so many connections at once.

    CatalogError for an unsupported URL.
    """
    parsed = parse_url(url)
    open_parsed = _open_sqlite if parsed.get_backend_name() == "sqlite" else _open_postgresql
    return open_parsed(parsed, connections)


def parse_url(url: str) -> URL:
    """Parse the URL of a catalog, with SQLAlchemy's name of the driver; CatalogError."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise CatalogError("the catalog's URL is not one; write postgresql://user@host/database") from error
    if parsed.get_backend_name() == "sqlite":
        return parsed
    if parsed.drivername not in POSTGRESQL_NAMES:
        raise CatalogError(f"a catalog cannot be on {parsed.drivername}; use sqlite or postgresql")
    return parsed.set(drivername=POSTGRESQL_NAMES[parsed.drivername])


def sqlite_path(url: str) -> Path | None:
    """Return the path of the file of a SQLite URL; None for PostgreSQL and a database in memory."""
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in {None, "", ":memory:"}:
        return None
    return Path(str(parsed.database))


def postgresql_engine(
    url: URL,
    *,
    more_options: str = "",
    **arguments: Any,  # noqa: ANN401 - SQLAlchemy's
) -> Engine:
    """Create an engine with the default limits; `more_options` are settings of its sessions. CatalogError."""
    query = {**POSTGRESQL_DEFAULTS, **url.query}
    query["options"] = " ".join(filter(None, (str(query["options"]), more_options)))
    try:
        engine = create_engine(url.set(query=query), **arguments)
        # Not at the top: the driver is an extra.
        from pipeline.store.postgresql import limit_answers  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        raise CatalogError("PostgreSQL needs its driver: install the extra 'postgres'") from error
    limit_answers(engine)
    return engine


def opening_error(error: Exception) -> CatalogError:
    """Describe in a sentence why a catalog cannot be opened, for its operator."""
    cause = error.__cause__ if isinstance(error, CatalogBusyError) else error
    why = " ".join(str(getattr(cause, "orig", None) or cause or error).split())
    is_away = isinstance(cause, SQLAlchemyError) and is_transient(cause)
    return (CatalogBusyError if is_away else CatalogError)(f"the catalog cannot be opened: {why}")


def is_transient(error: SQLAlchemyError) -> bool:
    """Return whether a retry may succeed: the database is locked or out of space, or the server is away."""
    if isinstance(error, OperationalError) and error.orig is not None:
        is_sqlite = type(error.orig).__module__ == "sqlite3"
        # SQLite raises the same class for a missing table; psycopg has other classes for that.
        return not is_sqlite or getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in SQLITE_TRANSIENT
    return isinstance(error, PoolTimeoutError)


def changed_rows(connection: Connection) -> int:
    """Return the number of rows that a SQLite connection has changed since it was opened."""
    return int(cast("SqliteConnection", connection.connection.driver_connection).total_changes)


def commit_number(connection: Connection) -> int:
    """Return the number of commits of a SQLite database that `count_commit` has counted."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def count_commit(connection: Connection) -> int:
    """Count the commit of this SQLite transaction, as a part of it, and return its number."""
    number = min(commit_number(connection) + 1, MAX_COMMIT_NUMBER)
    connection.exec_driver_sql(f"PRAGMA user_version = {number}")
    return number


def lock_until_commit(connection: Connection, name: str) -> None:
    """Take the lock of that name, held until the caller's transaction ends.

    Only PostgreSQL lets two transactions write at once; on SQLite there is nothing to lock. Later reads see
    what the previous holder has committed.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def _open_sqlite(url: URL, connections: int) -> Backend:
    engine = create_engine(url, pool_size=connections, max_overflow=0, **JSON)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    # Otherwise SQLite takes its write lock within the transaction, where it fails instead of waiting.
    writer = engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")
    # Threads queue for this lock, since those that wait for SQLite's own may sleep for seconds.
    return Backend(engine, engine, writer, Lock())


def _open_postgresql(url: URL, connections: int) -> Backend:
    kept = min(KEPT, connections)
    # Each connection is tested first, since those of before a restart of the server are dead.
    engine = postgresql_engine(
        url,
        pool_size=kept,
        max_overflow=connections - kept,
        pool_timeout=POOL_SECONDS,
        pool_pre_ping=True,
        **JSON,
    )
    # By default, each statement of a PostgreSQL transaction sees another state.
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Backend(engine, reader, engine)


def _prepare_sqlite(connection: SqliteConnection, _entry: ConnectionPoolEntry) -> None:
    # Otherwise Python's driver begins and commits transactions by itself.
    connection.isolation_level = None
    for pragma in SQLITE_PRAGMAS:
        connection.execute(pragma)


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))
