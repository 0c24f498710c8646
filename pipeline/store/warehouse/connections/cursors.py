"""Open cursors: their time limits, interruption of their statements, and the tables that they see."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final

import duckdb

from pipeline.store.warehouse.connections.errors import TimeLimitError

# A statement that begins right after an interrupt is not stopped by it, so interrupts are repeated.
_REPEAT_SECONDS: Final = 0.05
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of the block's statements in all; one that takes longer raises TimeLimitError."""
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def require_time() -> None:
    """Raise TimeLimitError where the time limit of this thread's work is over."""
    deadline = _deadline.get()
    if deadline is not None and time.monotonic() >= deadline:
        raise TimeLimitError


def table_exists(cursor: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Tell whether there is a table of this name, a temporary one too, as the cursor's transaction sees it.

    The system table `duckdb_tables()` describes every table for each question: 16 ms where there are 1,500.
    """
    try:
        # Unlike a query, this does not end the transaction where there is none.
        cursor.table(f'"{name}"')
    except duckdb.CatalogException:
        return False
    return True


class Cursors:
    """Open cursors of one connection; a thread interrupts those that are past their time limit."""

    def __init__(self) -> None:
        """Start without cursors; the thread starts with the first time limit."""
        self._changed = threading.Condition()
        self._deadlines: dict[duckdb.DuckDBPyConnection, float | None] = {}
        self._closing = 0
        self._watcher: threading.Thread | None = None

    def add(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Add a cursor, with the time limit of this thread's work."""
        deadline = _deadline.get()
        with self._changed:
            self._deadlines[cursor] = deadline
            if deadline is not None:
                self._watch()

    def close(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a cursor and remove it."""
        with self._changed:
            # No interrupt may reach a cursor that is being closed.
            self._deadlines.pop(cursor, None)
            self._closing += 1
        try:
            cursor.close()
        finally:
            with self._changed:
                self._closing -= 1
                self._changed.notify_all()

    def interrupt_until_closed(self, seconds: float) -> bool:
        """Interrupt all statements, and wait for their cursors to be closed; False after `seconds`."""
        until = time.monotonic() + seconds
        with self._changed:
            while self._deadlines or self._closing:
                if time.monotonic() >= until:
                    return False
                for cursor in self._deadlines:
                    _interrupt(cursor)
                self._changed.wait(_REPEAT_SECONDS)
        return True

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._interrupt_overdue, name="time-limits", daemon=True)
            self._watcher.start()
        else:
            self._changed.notify_all()

    def _interrupt_overdue(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                limited = [(one, limit) for one, limit in self._deadlines.items() if limit is not None]
                for cursor, limit in limited:
                    if limit <= now:
                        _interrupt(cursor)
                next_limit = min((limit for _, limit in limited), default=None)
                # Without a limited cursor, sleep until there is one.
                self._changed.wait(None if next_limit is None else max(next_limit - now, _REPEAT_SECONDS))


def _interrupt(cursor: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.Error):
        cursor.interrupt()
