"""Log lines of the service: time, level, request id and message, on standard error."""

import logging
import logging.config
import time
from contextvars import ContextVar
from typing import Any, Final

from api.expected_failures import is_expected, single_failures
from pipeline.store.catalog.errors import CatalogBusyError

# Of the request that this task, or a worker thread of it, answers.
request_id: Final[ContextVar[str]] = ContextVar("request_id", default="-")
_LINE: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(request_id)s %(name)s: %(message)s"
_OUTAGE: Final = "the catalog does not answer, which is said once a minute: %s"
_MINUTE: Final = 60.0
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


class OneSentence(logging.Filter):
    """Expected failures in one line, without a traceback, and outages in one line a minute.

    An outage is a catalog that does not answer, or the `outage` that a record names.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record; False for one of an outage that was told within the minute."""
        failure = record.exc_info[1] if record.exc_info else None
        outage: str | None = getattr(record, "outage", None)
        if failure is not None and is_expected(failure):
            record.exc_info = None
            if any(isinstance(one, CatalogBusyError) for one in single_failures(failure)):
                outage = "catalog"
                record.msg, record.args = _OUTAGE, (_cause(failure),)
            elif str(failure) not in record.getMessage():
                sentences = "; ".join(map(str, single_failures(failure)))
                record.msg, record.args = "%s: %s", (record.getMessage(), sentences)
        if outage is None:
            return True
        now = time.monotonic()
        is_due = now - self._told.get(outage, -_MINUTE) >= _MINUTE
        if is_due:
            self._told[outage] = now
        return is_due


def _cause(failure: BaseException) -> str:
    """Describe what a failure is due to, in one line."""
    failure = next(single_failures(failure))
    while failure.__cause__ is not None:
        failure = failure.__cause__
    return " ".join(str(failure).split())


def logged_path(path: str) -> str:
    """Return the path of a request as log lines have it: without the id of a visitor."""
    before, found, _ = path.partition("/visitors/")
    return f"{before}{found}…" if found else path


CONFIG: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": LineFormatter}},
    "filters": {"sentence": {"()": OneSentence}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["sentence"]}},
    # A job that takes longer than its interval is no news, and during an outage all of them do.
    "loggers": {"apscheduler": {"level": "ERROR"}},
    "root": {"level": "WARNING", "handlers": ["stderr"]},
}


def set_up_logging() -> None:
    """Write warnings and errors of the whole process as log lines."""
    logging.config.dictConfig(CONFIG)
