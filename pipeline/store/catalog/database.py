"""How the catalog's database is opened, and what one transaction is."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from pipeline.store.catalog.backends import is_passing, open_backend
from pipeline.store.catalog.errors import CatalogBusyError


@dataclass(slots=True)
class _Whole:
    """Several writes that are one: their connection, from the first of them on."""

    stack: ExitStack
    connection: Connection | None = None


class Database:
    """Transactions on the catalog; `read` and `write` are the only ways in."""

    def __init__(self, url: str) -> None:
        self._backend = open_backend(url)
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
        with _patience(), self._backend.reader.begin() as connection:
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
            token = self._whole.set(_Whole(stack))
            stack.callback(self._whole.reset, token)
            yield

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with _patience(), self._backend.turn, self._backend.writer.begin() as connection:
            yield connection
        self.version = next(self._commits)

    def close(self) -> None:
        """Close every connection."""
        self._backend.engine.dispose()


@contextmanager
def _patience() -> Iterator[None]:
    """CatalogBusyError for what may go well another time."""
    try:
        yield
    except SQLAlchemyError as error:
        if is_passing(error):
            raise CatalogBusyError("the catalog does not answer in time; try again") from error
        raise
