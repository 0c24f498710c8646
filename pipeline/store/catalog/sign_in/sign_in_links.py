"""Links that sign a browser in once, within a minute."""

import secrets
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete

from pipeline.store.catalog.database import Database
from pipeline.store.catalog.schema import sign_in_links
from pipeline.store.catalog.tokens import digest_of

VALID_FOR: Final = timedelta(minutes=1)
_SECRET_BYTES: Final = 32


class SignInLinks:
    """Repository of links, each with the encrypted token of an API key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, token: bytes, *, now: datetime) -> str:
        """Create a link, and return its secret, which is not stored; links that are over are deleted."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._database.write() as connection:
            connection.execute(delete(sign_in_links).where(sign_in_links.c.created_at <= now - VALID_FOR))
            row = {"digest": digest_of(secret), "token": token, "created_at": now}
            connection.execute(sign_in_links.insert().values(row))
        return secret

    def take(self, secret: str, *, now: datetime) -> bytes | None:
        """Use a link up, and return its encrypted token; None for one that is unknown, used or over."""
        is_this = sign_in_links.c.digest == digest_of(secret)
        # One statement, so that of two browsers at once one gets the token.
        taken = delete(sign_in_links).where(is_this).returning(sign_in_links)
        with self._database.write() as connection:
            row = connection.execute(taken).mappings().one_or_none()
        if row is None or row["created_at"] <= now - VALID_FOR:
            return None
        token: bytes = row["token"]
        return token
