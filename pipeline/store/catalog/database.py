"""How the catalog's database is opened, and what one transaction is."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from sqlite3 import Connection as SqliteConnection
from threading import Lock

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from pipeline.store.catalog.errors import CatalogBusyError

# Before anything else: switching to WAL waits for others only once it is told how long.
SQLITE_PRAGMAS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
)
# As many as the web framework has worker threads.
SQLITE_POOL = {"pool_size": 40, "max_overflow": 0}


@dataclass(slots=True)
class _Whole:
    """Several writes that are one: their connection, from the first of them on."""

    stack: ExitStack
    connection: Connection | None = None
    afterwards: list[Callable[[], None]] = field(default_factory=list)


class Database:
    """Transactions on the catalog; `read` and `write` are the only ways in."""

    def __init__(self, url: str) -> None:
        is_sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _engine(url, is_sqlite=is_sqlite)
        # Threads queue here: those that wait for SQLite's own lock sleep, and the unlucky sleep for seconds.
        self._turn = Lock() if is_sqlite else nullcontext()
        # SQLite would otherwise take its write lock in the middle, where it can only fail.
        self._writer = self.engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")
        self._commits = count(1)
        # Differs whenever this process has changed something since: who keeps a copy compares.
        self.version = 0
        self._whole: ContextVar[_Whole | None] = ContextVar("whole", default=None)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state."""
        whole = self._whole.get()
        if whole is not None and whole.connection is not None:
            yield whole.connection
            return
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection whose work is committed at the end, or not at all where an error is raised."""
        whole = self._whole.get()
        if whole is None:
            with self._transaction() as connection:
                yield connection
            return
        if whole.connection is None:
            whole.connection = whole.stack.enter_context(self._transaction())
        # What is raised inside undoes this write alone; who caught it may still keep the others.
        with whole.connection.begin_nested():
            yield whole.connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make every write of this thread until the end one transaction: all of them are kept, or none.

        Nothing is locked before the first write. What is raised undoes them all.
        """
        with ExitStack() as stack:
            whole = _Whole(stack)
            token = self._whole.set(whole)
            stack.callback(self._whole.reset, token)
            yield
        for action in whole.afterwards:
            action()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Do something once what this thread wrote is committed: at once, unless it writes `together`."""
        whole = self._whole.get()
        if whole is None:
            action()
        else:
            whole.afterwards.append(action)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._turn, self._writer.begin() as connection:
                yield connection
            self.version = next(self._commits)
        except OperationalError as error:
            if "database is locked" in str(error.orig):
                raise CatalogBusyError("the catalog is locked by another process; try again") from error
            raise

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _engine(url: str, *, is_sqlite: bool) -> Engine:
    engine = create_engine(
        url,
        json_serializer=lambda value: msgspec.json.encode(value).decode(),
        json_deserializer=msgspec.json.decode,
        **(SQLITE_POOL if is_sqlite else {}),
    )
    if is_sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: SqliteConnection, _entry: ConnectionPoolEntry) -> None:
    # Python's own driver would begin and commit behind our back.
    connection.isolation_level = None
    for pragma in SQLITE_PRAGMAS:
        connection.execute(pragma)


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))
