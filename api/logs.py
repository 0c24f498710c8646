"""Log lines of the service: time, level, request id and message, on standard error."""

import logging
import logging.config
import time
from contextvars import ContextVar
from typing import Any, Final

# Of the request that this task, or a worker thread of it, answers.
request_id: Final[ContextVar[str]] = ContextVar("request_id", default="-")
_LINE: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(request_id)s %(name)s: %(message)s"
_TIME: Final = "%Y-%m-%dT%H:%M:%S"


class LineFormatter(logging.Formatter):
    """A record as one line, but for its traceback: times are UTC, line breaks of a message are escaped."""

    def __init__(self) -> None:
        super().__init__(_LINE, _TIME)
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the base class
        """Format all but the traceback."""
        record.request_id = request_id.get()
        # A path of a stranger must not look like a line of its own.
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


def logged_path(path: str) -> str:
    """Return the path of a request as log lines have it: without the id of a visitor."""
    before, found, _ = path.partition("/visitors/")
    return f"{before}{found}…" if found else path


CONFIG: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": LineFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"level": "WARNING", "handlers": ["stderr"]},
}


def set_up_logging() -> None:
    """Write warnings and errors of the whole process as log lines."""
    logging.config.dictConfig(CONFIG)
