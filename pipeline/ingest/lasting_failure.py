"""Log of a failure that lasts: a line when it begins, and one when it is over."""

import logging
from typing import Final

from pipeline.disk_space import DiskFullError
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError

# Failures that end by themselves, or once the operator has made room.
PASSING: Final = (DiskFullError, WarehouseUnavailableError)


class LastingFailure:
    """A failure of repeated work, logged once for each reason and not at every attempt."""

    def __init__(self, logger: logging.Logger, *, begins: str, ends: str) -> None:
        """Begin without one; `begins` precedes the reason in the log, `ends` is the line at the end."""
        self._logger = logger
        self._begins = begins
        self._ends = ends
        self._reason: str | None = None

    def note(self, error: Exception) -> None:
        """Log the reason unless it is the last one, with a traceback where it is none of PASSING."""
        if self._reason != str(error):
            is_known = isinstance(error, PASSING)
            self._logger.error("%s: %s", self._begins, error, exc_info=None if is_known else error)
        self._reason = str(error)

    def end(self) -> None:
        """Log that the work succeeds again, if it failed before."""
        if self._reason is not None:
            self._logger.warning(self._ends)
            self._reason = None
