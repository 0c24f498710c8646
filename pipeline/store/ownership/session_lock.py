"""Lock of a PostgreSQL session: held as long as its connection lives."""

from threading import Lock
from typing import Final

from sqlalchemy import URL, Connection, func, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from pipeline.store.catalog.backends import postgresql_engine

# The server ends the session of a machine that is gone after 60 seconds, and with it the lock.
KEEPALIVES: Final = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"


class SessionLockHeldError(Exception):
    """Another session holds the lock."""


class SessionLock:
    """An advisory lock of a name in a database, on a connection of its own; all methods are thread-safe."""

    def __init__(self, url: URL, name: str) -> None:
        """Take the lock; SessionLockHeldError where another session holds it, and SQLAlchemyError."""
        self._engine = postgresql_engine(
            url, more_options=KEEPALIVES, poolclass=NullPool, isolation_level="AUTOCOMMIT"
        )
        self._name = name
        self._using = Lock()
        self._connection = self._locked()

    def renew(self) -> bool:
        """Confirm the lock; after a lost connection take it again, and return True then.

        Raises:
            SessionLockHeldError: another session took the lock meanwhile.
            SQLAlchemyError: the server does not answer.
        """
        with self._using:
            try:
                self._connection.execute(text("SELECT 1"))
            except SQLAlchemyError:
                # With an error it is closed without an answer of the server.
                self._connection.close()
                self._connection = self._locked()
                return True
            return False

    def release(self) -> None:
        """Release the lock by closing its connection."""
        with self._using:
            self._connection.close()

    def _locked(self) -> Connection:
        connection = self._engine.connect()
        try:
            key = func.hashtextextended(self._name, 0)
            is_locked = bool(connection.scalar(select(func.pg_try_advisory_lock(key))))
        except BaseException:
            connection.close()
            raise
        if not is_locked:
            connection.close()
            raise SessionLockHeldError(f"another process holds the lock {self._name!r}")
        return connection
