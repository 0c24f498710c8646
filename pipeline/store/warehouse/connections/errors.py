"""Errors of the warehouse."""

from typing import Final

import duckdb
import polars as pl

RETRY_AFTER_SECONDS: Final = 5
REOPENING: Final = "the warehouse is being opened again; try again in a moment"
# DuckDB has no error class for a full disk; these are parts of its messages.
_DISK_FULL: Final = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "max_temp_directory_size",
)
# All others, such as a lack of memory, may pass.
_OF_VALUES: Final = (
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.ProgrammingError,
    pl.exceptions.PolarsError,
    TypeError,
    ValueError,
    OverflowError,
)


class WarehouseUnavailableError(Exception):
    """The warehouse cannot answer at present; a retry after `retry_after` seconds may succeed."""

    def __init__(self, message: str, retry_after: int = RETRY_AFTER_SECONDS) -> None:
        """Give the reason, and the seconds until a retry may succeed."""
        self.retry_after = retry_after
        super().__init__(message)


class TimeLimitError(WarehouseUnavailableError):
    """A read took longer than its time limit, and was stopped."""

    def __init__(self) -> None:
        """Suggest a later attempt."""
        super().__init__("the results take too long to compute at present; try again later", 30)


def is_disk_full(error: BaseException) -> bool:
    """Tell whether DuckDB could not write for lack of space."""
    return isinstance(error, duckdb.Error) and any(sign in str(error) for sign in _DISK_FULL)


def is_fatal(error: BaseException) -> bool:
    """Tell whether DuckDB refuses all further work until the file is opened anew."""
    return isinstance(error, duckdb.FatalException) or "database has been invalidated" in str(error)


def is_of_values(error: BaseException) -> bool:
    """Tell whether rows could not be stored because of their values, and never will be."""
    return isinstance(error, _OF_VALUES)
