"""The DuckDB file: one owning process, short-lived cursors, transactions, exchange of frames."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeAlias, TypeVar

import duckdb
import polars as pl

from pipeline.available_memory import available_memory
from pipeline.disk_space import DiskFullError, free_bytes, require_space
from pipeline.settings import Settings
from pipeline.store.ownership.open_file import OpenFile
from pipeline.store.warehouse.arrow_streams import FrameStream, QueryStream
from pipeline.store.warehouse.connections.cursors import require_time
from pipeline.store.warehouse.connections.errors import (
    REOPENING,
    WarehouseUnavailableError,
    is_disk_full,
    is_fatal,
)
from pipeline.store.warehouse.connections.reopening import ReopeningConnection
from pipeline.store.warehouse.connections.use_time import UseTime

logger = logging.getLogger(__name__)

Cursor: TypeAlias = duckdb.DuckDBPyConnection
ResultT = TypeVar("ResultT")
# Errors of writing a file, such as a full disk or missing permissions.
DISK_FAILURES: Final = (OSError, duckdb.IOException, DiskFullError)
# DuckDB must not checkpoint during a commit or at closing: without the room it would be lost for good.
_NEVER: Final = "1000TB"
# Measured: a checkpoint writes up to twice the size of the log before it removes the log.
_ROOM_PER_LOG_BYTE: Final = 2
_MIN_ROOM_BYTES: Final = 16 * 2**20
# Beyond this more cached blocks do not make queries faster, as files are cached by the system too.
_MOST_MEMORY: Final = 1536 * 2**20
_KEPT_CACHE: Final = "256 MiB"
# Below this share of the time with an open cursor, hardly anybody waits for what is cached. Jobs that find
# nothing to do and checks of readiness take a tenth of it, on two crowded cores.
_IDLE_SHARE: Final = 0.02
# After a checkpoint that failed or had no room, until the next attempt during commits.
_RETRY_SECONDS: Final = 10.0
# How long a checkpoint waits for transactions in its way, and between two attempts.
CHECKPOINT_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.05


class WarehouseBusyError(Exception):
    """The DuckDB file is held by another process; it has one owner at a time, readers included."""

    def __init__(self, path: Path) -> None:
        """Name the file and the ways to continue."""
        self.path = path
        super().__init__(
            f"{path} is held by another process, most likely `truelift serve` on the same data folder. "
            "Ask the running service over its API, stop it first, or use another data folder."
        )


class Warehouse:
    """The DuckDB file, opened once; all methods are thread-safe.

    Work on it raises DiskFullError on a full disk, WarehouseUnavailableError while the file is opened again
    after a fatal error, and TimeLimitError beyond the time limit of the caller.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the file of the settings; use `Warehouse.open` instead."""
        self.path = settings.warehouse_path
        self.event_keys_path = settings.event_keys_path
        self._log_path = self.path.with_name(f"{self.path.name}.wal")
        self._min_free_bytes = settings.min_free_disk_bytes
        self._max_log_bytes = settings.checkpoint_log_bytes
        self._no_checkpoint_before = 0.0
        self._checkpointing = threading.Lock()
        found = configuration(settings)
        self._memory_limit = found["memory_limit"]
        self._connection = ReopeningConnection(partial(_connect, self.path, found))
        self._file = OpenFile(self.path)
        self._use = UseTime()

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Open or create the file; commits of a killed process are replayed from its log.

        Raises WarehouseBusyError while another process holds the file.
        """
        path = settings.warehouse_path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return cls(settings)
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise
            raise WarehouseBusyError(path) from error

    @property
    def openings(self) -> int:
        """Number of openings of the file by this process; constant while a cursor is open."""
        return self._connection.openings

    @property
    def lost_seconds(self) -> float:
        """Seconds since a fatal error after which the file is not open again yet; 0 without one."""
        return self._connection.lost_seconds

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """Open a connection for one piece of work; each statement commits by itself."""
        require_time()
        with self._errors(), self._use.using():
            # A connection is busy until its result is read to the end, so callers never share one.
            cursor = self._connection.open_cursor()
            try:
                yield cursor
            finally:
                self._connection.close_cursor(cursor)

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Open a cursor in a transaction: all of it is on disk when the block ends, or none of it."""
        with self.cursor() as cursor:
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise

    def ping(self) -> None:
        """Run a trivial query; raise the error that prevents it, or WarehouseUnavailableError."""
        with self.cursor() as cursor:
            cursor.execute("SELECT 1")
        self.require_in_place()

    def require_in_place(self) -> None:
        """Raise WarehouseUnavailableError where the file or its log was removed or replaced meanwhile."""
        if not self._file.is_in_place():
            raise WarehouseUnavailableError(f"{self.path} was removed or replaced while it was in use")
        # No log at its path is right in and after a checkpoint only.
        if self._log_path.exists() or self._checkpointing.locked():
            return
        if self._has_log() and not self._log_path.exists():
            raise WarehouseUnavailableError(f"{self._log_path} was removed while it was in use")

    def _has_log(self) -> bool:
        """Tell whether DuckDB itself counts bytes in its log."""
        with self.cursor() as cursor:
            size = cursor.execute("SELECT wal_size FROM pragma_database_size()").fetchall()[0][0]
        return not str(size).startswith("0 ")

    def require_space(self, *, more_bytes: int = 0) -> None:
        """Raise DiskFullError where the disk lacks `more_bytes` beside the space that the service leaves."""
        try:
            require_space(self.path.parent, self._min_free_bytes + more_bytes)
        except FileNotFoundError as error:
            raise WarehouseUnavailableError(f"{self.path} was removed while it was in use") from error

    def checkpoint(self) -> bool:
        """Move the log into the file, so that the next start has nothing to replay.

        False where the disk lacks the room: a checkpoint that fails would close the database.
        """
        with self._checkpointing:
            if not self._has_room_for_checkpoint():
                return False
            with self.cursor() as cursor:
                cursor.execute("CHECKPOINT")
        return True

    def checkpoint_when_idle(self) -> bool:
        """Checkpoint as soon as no other transaction writes; see `checkpoint` and `when_idle`."""
        return when_idle(self.checkpoint)

    def checkpoint_if_large(self) -> None:
        """Move a log of the set size into the file, where possible; a failure is logged."""
        if self._log_bytes() < self._max_log_bytes or time.monotonic() < self._no_checkpoint_before:
            return
        try:
            is_done = self.checkpoint()
        except (duckdb.TransactionException, DiskFullError, WarehouseUnavailableError) as error:
            # Readers of replaced tables prevent it, among others.
            logger.info("no checkpoint at present: %s", error)
            is_done = False
        if not is_done:
            self._no_checkpoint_before = time.monotonic() + _RETRY_SECONDS

    def shrink_cache(self) -> None:
        """Give back the memory of cached blocks but for a part, unless running statements need it."""
        with self.cursor() as cursor, suppress(duckdb.OutOfMemoryException):
            # A lower limit evicts at once what exceeds it.
            try:
                cursor.execute(f"SET GLOBAL memory_limit = '{_KEPT_CACHE}'")
            finally:
                cursor.execute(f"SET GLOBAL memory_limit = '{self._memory_limit}'")

    def shrink_idle_cache(self) -> bool:
        """Give back the memory of cached blocks as above where next to nothing was asked since the last call.

        What refreshes, snapshots and reads of results left there would stay until the end of the process.
        """
        is_idle = self._use.take_share() < _IDLE_SHARE
        if is_idle:
            self.shrink_cache()
        return is_idle

    def close(self, *, with_checkpoint: bool = True) -> None:
        """Checkpoint, where that is wanted and possible, and release the file."""
        if with_checkpoint and self._file.is_in_place():
            with suppress(duckdb.Error, DiskFullError, WarehouseUnavailableError):
                self.checkpoint()
        self._connection.close()

    def _log_bytes(self) -> int:
        try:
            return self._log_path.stat().st_size
        except FileNotFoundError:
            return 0

    def _has_room_for_checkpoint(self) -> bool:
        log, free = self._log_bytes(), free_bytes(self.path.parent)
        needed = _ROOM_PER_LOG_BYTE * log + _MIN_ROOM_BYTES
        if log and free < needed:
            logger.warning(
                "no checkpoint: it may need %d MiB, and the disk has %d free", needed // 2**20, free // 2**20
            )
            return False
        return True

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn DuckDB's errors of a disk, and of a time limit, into the project's."""
        try:
            yield
        except Exception as error:
            if is_fatal(error):
                self._connection.lose(error)
                raise WarehouseUnavailableError(REOPENING) from error
            if is_disk_full(error):
                raise DiskFullError("the disk is full; try again once there is space") from error
            if isinstance(error, duckdb.InterruptException):
                # Only a time limit and the next opening interrupt a statement.
                require_time()
                raise WarehouseUnavailableError(REOPENING) from error
            raise


def _connect(path: Path, configuration: dict[str, str | bool | int | float | list[str]]) -> Cursor:
    connection = duckdb.connect(str(path), config=configuration)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")
    return connection


def configuration(settings: Settings) -> dict[str, str | bool | int | float | list[str]]:
    """Configure DuckDB by the settings."""
    found: dict[str, str | bool | int | float | list[str]] = {
        # Nothing is downloaded unless the operator asks for it.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "checkpoint_threshold": _NEVER,
    }
    # DuckDB alone would take 80% of the machine's memory, and knows of no container.
    unset = f"{min(available_memory() // 2, _MOST_MEMORY) // 2**20} MiB"
    found["memory_limit"] = settings.duckdb_memory_limit or unset
    if settings.duckdb_threads is not None:
        found["threads"] = settings.duckdb_threads
    return found


def _roll_back(cursor: Cursor) -> None:
    try:
        cursor.execute("ROLLBACK")
    except (duckdb.TransactionException, duckdb.FatalException):
        # A failed COMMIT has rolled back already, and so does the next opening.
        return


def copy_to_file(cursor: Cursor, query: str, path: Path, options: str, **values: object) -> int:
    """Write the rows of a query to a file, in the format that `options` name; return how many there are.

    `values` are bound to the parameters of the query, by name.
    """
    statement = f"COPY ({query}) TO $path ({options})"
    return int(cursor.execute(statement, {"path": str(path), **values}).fetchall()[0][0])


def fetch_frame(
    cursor: Cursor, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Run a query and return its rows as a frame."""
    return pl.DataFrame(QueryStream(cursor.sql(query, params=parameters)))


@contextmanager
def registered(cursor: Cursor, name: str, rows: pl.DataFrame) -> Iterator[None]:
    """Make a frame available to queries under a name, inside the block."""
    cursor.register(name, FrameStream(rows))
    try:
        yield
    except BaseException:
        # In a failed transaction this fails too, and would hide the first error.
        with suppress(duckdb.Error):
            cursor.unregister(name)
        raise
    cursor.unregister(name)


def when_idle(checkpoint: Callable[[], ResultT]) -> ResultT:
    """Call what checkpoints a database as soon as no other transaction is in its way.

    Raises WarehouseUnavailableError where one is all the time.
    """
    deadline = time.monotonic() + CHECKPOINT_SECONDS
    while True:
        try:
            return checkpoint()
        except duckdb.TransactionException as error:
            if time.monotonic() > deadline:
                raise WarehouseUnavailableError("other transactions prevent a checkpoint") from error
            time.sleep(_PAUSE_SECONDS)
