"""Transactions on the catalog's database."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from pipeline.store.catalog.backends import (
    CONNECTIONS,
    changed_rows,
    commit_number,
    count_commit,
    is_transient,
    open_backend,
    sqlite_path,
)
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.ownership.open_file import OpenFile

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _JoinedWrites:
    """Writes in one transaction; the connection is opened by the first of them."""

    stack: ExitStack
    connection: Connection | None = None


class Database:
    """Transactions on the catalog, for reads and for writes."""

    def __init__(self, url: str, connections: int = CONNECTIONS) -> None:
        self._backend = open_backend(url, connections)
        self._commits = count(1)
        # Differs after every write of this process, so that caches see a change.
        self.version = 0
        self._joined: ContextVar[_JoinedWrites | None] = ContextVar("joined", default=None)
        self.path = path = sqlite_path(url)
        self._mark = CommitMark(path) if path else None
        self._file = OpenFile(path) if path and path.exists() else None

    def require_commits(self, *, accept_loss: bool) -> None:
        """Raise DamagedStoreError where SQLite's log, and with it the newest commits, are missing."""
        if self._mark is None:
            return
        # First the mark: another process may commit in between.
        acknowledged = self._mark.read()
        with self.read() as connection:
            newest = commit_number(connection)
        if newest >= acknowledged:
            return
        problem = (
            f"the catalog {self._mark.path.with_suffix('')} has lost {acknowledged - newest:,} of its newest "
            "commits: the file or its log was removed, replaced or damaged"
        )
        if not accept_loss:
            raise DamagedStoreError(problem)
        logger.error("%s; the loss is accepted", problem)
        self._mark.write(newest)

    def damage(self) -> str | None:
        """Return the first problem that SQLite finds in its file; None for a sound one and for PostgreSQL."""
        if self._mark is None:
            return None
        try:
            with self.read() as connection:
                found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
        except DatabaseError as error:
            found = str(error.orig)
        return None if found == "ok" else " ".join(found.split())

    def require_in_place(self) -> None:
        """Raise CatalogBusyError where SQLite's file was removed or replaced while it was open."""
        if self._file is not None and not self._file.is_in_place():
            raise CatalogBusyError(f"{self._file.path} was removed or replaced while it was in use")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction for reads of one consistent state; CatalogBusyError."""
        joined = self._joined.get()
        if joined is not None and joined.connection is not None:
            yield joined.connection
            return
        with _busy_errors(), self._backend.reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that is committed at the end, or rolled back by an error; CatalogBusyError."""
        joined = self._joined.get()
        if joined is None:
            with self._transaction() as connection:
                yield connection
            return
        if joined.connection is None:
            joined.connection = joined.stack.enter_context(self._transaction())
        # An error rolls back this write alone; a caller that catches it may still commit the others.
        with joined.connection.begin_nested():
            yield joined.connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Join all writes of this thread in one transaction, rolled back by an error.

        Nothing is locked before the first write.
        """
        with ExitStack() as stack:
            token = self._joined.set(_JoinedWrites(stack))
            stack.callback(self._joined.reset, token)
            yield

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Commit each write of the block by itself, also inside `together` before its first write."""
        token = self._joined.set(None)
        try:
            yield
        finally:
            self._joined.reset(token)

    def empty_log(self) -> None:
        """Move SQLite's log into its file, and empty it, unless a reader needs it still."""
        if self._mark is not None:
            with _busy_errors(), self._backend.engine.connect() as connection:
                alone = connection.execution_options(isolation_level="AUTOCOMMIT")
                alone.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with _busy_errors(), self._backend.write_lock:
            number = 0
            with self._backend.writer.begin() as connection:
                before = changed_rows(connection) if self._mark else 0
                yield connection
                if self._mark and changed_rows(connection) != before:
                    number = count_commit(connection)
            self.version = next(self._commits)
            if self._mark and number:
                # Nothing is acknowledged in a file that the next start would not find.
                self.require_in_place()
                self._mark.write(number)

    def close(self) -> None:
        """Close every connection."""
        self._backend.engine.dispose()


@contextmanager
def _busy_errors() -> Iterator[None]:
    """Turn transient errors of the database into CatalogBusyError."""
    try:
        yield
    except SQLAlchemyError as error:
        if is_transient(error):
            raise CatalogBusyError("the catalog does not answer in time; try again") from error
        raise
