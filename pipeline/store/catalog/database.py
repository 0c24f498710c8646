"""Transactions on the catalog's database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from pipeline.store.catalog.backends import is_transient, open_backend
from pipeline.store.catalog.errors import CatalogBusyError


@dataclass(slots=True)
class _JoinedWrites:
    """Writes in one transaction; the connection is opened by the first of them."""

    stack: ExitStack
    connection: Connection | None = None


class Database:
    """Transactions on the catalog, for reads and for writes."""

    def __init__(self, url: str) -> None:
        self._backend = open_backend(url)
        self._commits = count(1)
        # Differs after every write of this process, so that caches see a change.
        self.version = 0
        self._joined: ContextVar[_JoinedWrites | None] = ContextVar("joined", default=None)

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
    def _transaction(self) -> Iterator[Connection]:
        with _busy_errors(), self._backend.write_lock, self._backend.writer.begin() as connection:
            yield connection
        self.version = next(self._commits)

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
