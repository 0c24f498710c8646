"""What differs between SQLite and PostgreSQL: how each is opened, when it is busy, and whose turn it is."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from sqlite3 import Connection as SqliteConnection
from threading import Lock
from typing import Any, Final

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from pipeline.store.catalog.errors import CatalogError

# As many as the web framework has worker threads.
CONNECTIONS: Final = 40
# Of these, how many PostgreSQL keeps open while nobody needs them.
KEPT: Final = 10
JSON: Final[dict[str, Any]] = {
    "json_serializer": lambda value: msgspec.json.encode(value).decode(),
    "json_deserializer": msgspec.json.decode,
}
# Before anything else: switching to WAL waits for others only once it is told how long.
SQLITE_PRAGMAS: Final = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
)
# How PostgreSQL is written in a URL → SQLAlchemy's name of the dialect and the driver.
POSTGRESQL_NAMES: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
# What the URL may set otherwise: seconds to connect in, and milliseconds to wait for somebody's lock.
POSTGRESQL_DEFAULTS: Final = {"connect_timeout": "10", "options": "-c lock_timeout=10000"}


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database: `reader` and `writer` begin their transactions on the same connections."""

    engine: Engine
    reader: Engine
    writer: Engine
    # Held by a writer of this process from before it begins.
    turn: AbstractContextManager[Any] = field(default_factory=nullcontext)


def open_backend(url: str) -> Backend:
    """The database of a URL, not yet connected to; CatalogError for one that cannot be a catalog."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise CatalogError("the catalog's URL is not one; write postgresql://user@host/database") from error
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.drivername not in POSTGRESQL_NAMES:
        raise CatalogError(f"a catalog cannot be on {parsed.drivername}; use sqlite or postgresql")
    return _open_postgresql(parsed.set(drivername=POSTGRESQL_NAMES[parsed.drivername]))


def is_passing(error: SQLAlchemyError) -> bool:
    """Whether the same work may succeed later: others are in the way, or the server is away for now."""
    if isinstance(error, OperationalError) and error.orig is not None:
        is_sqlite = type(error.orig).__module__ == "sqlite3"
        # SQLite says with the same class that a table is missing; psycopg has other classes for that.
        return not is_sqlite or "database is locked" in str(error.orig)
    return isinstance(error, PoolTimeoutError)


def take_turn(connection: Connection, what: str) -> None:
    """Wait until no other transaction is at `what`; the turn ends with the caller's transaction.

    Only PostgreSQL lets two write at once. What is read from here on is what the one before has left.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(what, 0))))


def _open_sqlite(url: URL) -> Backend:
    engine = create_engine(url, pool_size=CONNECTIONS, max_overflow=0, **JSON)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    # SQLite would otherwise take its write lock in the middle, where it can only fail.
    writer = engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")
    # Threads queue for a lock: those that wait for SQLite's own sleep, and the unlucky sleep for seconds.
    return Backend(engine, engine, writer, Lock())


def _open_postgresql(url: URL) -> Backend:
    url = url.set(query={**POSTGRESQL_DEFAULTS, **url.query})
    try:
        # A server that was restarted has forgotten the connections of before: each is tried first.
        engine = create_engine(
            url, pool_size=KEPT, max_overflow=CONNECTIONS - KEPT, pool_pre_ping=True, **JSON
        )
    except ModuleNotFoundError as error:
        raise CatalogError("PostgreSQL needs its driver: pip install 'truelift[postgres]'") from error
    # PostgreSQL's own default shows each statement of a transaction a state of its own.
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Backend(engine, reader, engine)


def _prepare_sqlite(connection: SqliteConnection, _entry: ConnectionPoolEntry) -> None:
    # Python's own driver would begin and commit behind our back.
    connection.isolation_level = None
    for pragma in SQLITE_PRAGMAS:
        connection.execute(pragma)


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))
