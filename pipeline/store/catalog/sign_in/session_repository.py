"""Sessions of the dashboard: a signed-in key, found by the digest of a secret that only the browser has."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, or_, select

from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import sessions
from pipeline.store.catalog.tokens import digest_of

# Without a request for so long, and whatever happens, a session is over.
IDLE: Final = timedelta(hours=12)
LONGEST: Final = timedelta(days=7)
# Coarse, since a write for every page would cost more than the page.
USE_RESOLUTION: Final = timedelta(minutes=5)
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in key; `token` is the encrypted token of the key."""

    key_id: str
    token: bytes


class Sessions:
    """Repository of sessions; they are deleted with their key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, account_id: str, key_id: str, token: bytes, *, now: datetime) -> str:
        """Begin and audit a session, and return its secret, which is not stored.

        Sessions that are over are deleted.
        """
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        row = {
            "digest": digest_of(secret),
            "key_id": key_id,
            "token": token,
            "created_at": now,
            "used_at": now,
        }
        is_over = or_(sessions.c.used_at <= now - IDLE, sessions.c.created_at <= now - LONGEST)
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(is_over))
            connection.execute(sessions.insert().values(row))
            begun = {"id": new_id("ses"), "key_id": key_id}
            record(connection, account_id, key_id, begun["id"], changes_between({}, begun))
        return secret

    def find(self, secret: str, *, now: datetime) -> Session | None:
        """Return the session of a secret; None for one that is unknown or over."""
        is_this = sessions.c.digest == digest_of(secret)
        with self._database.read() as connection:
            row = connection.execute(select(sessions).where(is_this)).mappings().one_or_none()
        if row is None or row["used_at"] <= now - IDLE or row["created_at"] <= now - LONGEST:
            return None
        if row["used_at"] <= now - USE_RESOLUTION:
            with self._database.write() as connection:
                connection.execute(sessions.update().where(is_this).values(used_at=now))
        return Session(row["key_id"], row["token"])

    def end(self, secret: str) -> None:
        """End a session; nothing happens where there is none."""
        with self._database.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == digest_of(secret)))
