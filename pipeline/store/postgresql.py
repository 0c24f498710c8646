"""PostgreSQL connections with a time limit for every answer of the server.

The limits that the server itself keeps, and those of TCP, do not end the wait for a server that is stopped:
its machine still accepts connections and confirms what is sent.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from psycopg import Connection, OperationalError
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection as CatalogConnection
from sqlalchemy import Engine, event, text
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import ConnectionPoolEntry

# More than the server's own limits, which end a statement with a better error.
ANSWER_SECONDS: Final = 20.0
# The test of a connection before its use.
PING_SECONDS: Final = 5.0
_INTERVAL_SECONDS: Final = 0.1


class LimitedConnection(Connection[Any]):
    """Connection that is closed when the server does not answer in time; OperationalError."""

    answer_seconds: float | None = ANSWER_SECONDS

    def wait(self, gen: PQGen[RV], interval: float = _INTERVAL_SECONDS, timeout: float | None = None) -> RV:
        """Wait for an answer, for `timeout` or else the connection's own limit, in seconds."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        # Only that test is outside of a transaction.
        limit = PING_SECONDS if self.autocommit and self.answer_seconds else self.answer_seconds
        try:
            return super().wait(gen, interval, limit)
        except OperationalError:
            if not self.closed and self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                # The answer may still come, and would be taken for that of the next statement.
                self.pgconn.finish()
            raise


def limit_answers(engine: Engine) -> None:
    """Limit the time of every answer to the connections of an engine."""
    event.listen(engine, "do_connect", _connect)


@contextmanager
def unlimited(connection: CatalogConnection) -> Iterator[None]:
    """Lift the time limits for one transaction on PostgreSQL, as of a migration."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, LimitedConnection):
        raise TypeError("the connection has no limit to lift")
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    driver.answer_seconds = None
    try:
        yield
    finally:
        driver.answer_seconds = ANSWER_SECONDS


def _connect(
    _dialect: Dialect, _entry: ConnectionPoolEntry, arguments: list[Any], parameters: dict[str, Any]
) -> LimitedConnection:
    return LimitedConnection.connect(*arguments, **parameters)
