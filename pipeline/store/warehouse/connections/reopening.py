"""Connection that is opened anew after a fatal error of DuckDB."""

import gc
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import duckdb

from pipeline.store.warehouse.connections.cursors import Cursors
from pipeline.store.warehouse.connections.errors import REOPENING, WarehouseUnavailableError

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS: Final = 1.0
_MAX_PAUSE_SECONDS: Final = 10.0


class ReopeningConnection:
    """Connection with its cursors; after `lose` it is opened anew, once every cursor is closed.

    After a fatal error, such as a checkpoint on a full disk, DuckDB refuses all further work on a database,
    reads included. What was committed is in its log, which the next opening replays.
    """

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        """Connect; raises what `connect` raises."""
        self._connect = connect
        self._connection = connect()
        self._cursors = Cursors()
        self._changed = threading.Condition()
        self._lost_at: float | None = None
        self._is_closed = False
        # Differs after each opening; constant while a cursor is open.
        self.openings = 1

    @property
    def lost_seconds(self) -> float:
        """Seconds since the connection was lost; 0 while it works."""
        lost_at = self._lost_at
        return 0.0 if lost_at is None else time.monotonic() - lost_at

    def open_cursor(self) -> duckdb.DuckDBPyConnection:
        """Open a cursor; WarehouseUnavailableError while the connection is lost."""
        with self._changed:
            if self._lost_at is not None:
                raise WarehouseUnavailableError(REOPENING)
            cursor = self._connection.cursor()
            self._cursors.add(cursor)
        return cursor

    def close_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a cursor of `open_cursor`."""
        self._cursors.close(cursor)

    def lose(self, error: BaseException) -> None:
        """Open the database anew in the background, after a fatal error."""
        with self._changed:
            if self._lost_at is not None or self._is_closed:
                return
            self._lost_at = time.monotonic()
        logger.error("the warehouse is lost and opened again: %s", error)
        threading.Thread(target=self._reopen, name="reopening", daemon=True).start()

    def close(self) -> None:
        """Close for good."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            self._connection.close()

    def _reopen(self) -> None:
        """Try until the database is open, or closed for good."""
        pause = 0.1
        while not self._try_to_reopen():
            with self._changed:
                if self._changed.wait_for(lambda: self._is_closed, timeout=pause):
                    return
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    def _try_to_reopen(self) -> bool:
        # Two openings at once would share neither their state nor the lock on the file.
        if not self._cursors.interrupt_until_closed(_PATIENCE_SECONDS):
            logger.warning("the warehouse cannot be opened again yet: some work on it has not ended")
            return False
        with self._changed:
            if self._is_closed:
                return True
            self._connection.close()
            # A result that is referenced by a traceback keeps the old database open.
            gc.collect()
            try:
                self._connection = self._connect()
            except duckdb.Error as error:
                logger.error("the warehouse cannot be opened again: %s", error)  # noqa: TRY400 (said in one line)
                return False
            self.openings += 1
            logger.warning("the warehouse is open again, after %.1f seconds", self.lost_seconds)
            self._lost_at = None
        return True
