"""Idempotency keys: claims on requests, and the encrypted replies to them."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select
from sqlalchemy.exc import IntegrityError

from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import KeyInUseError, KeyReusedError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import replies

KEPT_FOR: Final = timedelta(hours=24)
# A claim without a reply by then is of a request that has ended; its writes cannot be committed any more.
ANSWERED_WITHIN: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that its sender may repeat: its key, and the digest of its contents."""

    account_id: str
    key: str
    fingerprint: str

    @property
    def key_digest(self) -> str:
        """Digest of the key, stored instead of its text."""
        return hashlib.sha256(self.key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Claim:
    """The exclusive right to answer a request, until it expires."""

    request: Repeatable
    claim_id: str


class IdempotencyKeys:
    """Claims and encrypted replies by account and key; a reply is stored for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, request: Repeatable, *, now: datetime) -> Claim | bytes:
        """Claim a request, or return its encrypted reply where it has been answered.

        KeyReusedError where the key is that of another request, KeyInUseError while the request is answered.
        """
        # Without a lock, which the first request may hold: its claim is to be reported, not waited for.
        with self._database.read() as connection:
            row = _unexpired(connection, request, now)
        if row is not None:
            return _reply(row, request)
        claim = Claim(request, new_id("clm"))
        try:
            with self._database.write() as connection:
                row = _unexpired(connection, request, now)
                if row is not None:
                    return _reply(row, request)
                # Expired ones only: PostgreSQL shows this statement a claim that another has just made.
                connection.execute(replies.delete().where(_is(request), replies.c.expires_at <= now))
                connection.execute(replies.insert().values(_row_of(claim, now)))
        except IntegrityError as error:
            # PostgreSQL lets two transactions look at once; the second insert fails.
            raise KeyInUseError(_IN_USE) from error
        return claim

    def find(self, request: Repeatable, *, now: datetime) -> bytes | None:
        """Return the encrypted reply to a request; None where it is new or being answered."""
        with self._database.read() as connection:
            row = _unexpired(connection, request, now)
        if row is None or row["fingerprint"] != request.fingerprint:
            return None
        sealed: bytes | None = row["sealed"]
        return sealed

    def keep(self, claim: Claim, sealed: bytes, *, now: datetime) -> None:
        """Store the encrypted reply for a day; KeyInUseError where another claim has replaced this one."""
        update = replies.update().where(_is_held(claim)).values(sealed=sealed, expires_at=now + KEPT_FOR)
        with self._database.write() as connection:
            if connection.execute(update).rowcount != 1:
                raise KeyInUseError(_IN_USE)

    def release(self, claim: Claim) -> None:
        """Release a claim without a reply, so that the request may be made again."""
        with self._database.write() as connection:
            connection.execute(replies.delete().where(_is_held(claim)))

    def release_all(self) -> None:
        """Release every claim without a reply."""
        with self._database.write() as connection:
            connection.execute(replies.delete().where(replies.c.sealed.is_(None)))

    def delete_expired(self, *, now: datetime) -> int:
        """Delete expired claims and replies; returns their number."""
        with self._database.write() as connection:
            return connection.execute(replies.delete().where(replies.c.expires_at <= now)).rowcount


_IN_USE: Final = "a request with this Idempotency-Key is being answered; wait a moment and send it again"
_REUSED: Final = "this Idempotency-Key stands for a different request; use a new key for a new request"


def _unexpired(connection: Connection, request: Repeatable, now: datetime) -> RowMapping | None:
    query = select(replies.c.fingerprint, replies.c.sealed).where(_is(request), replies.c.expires_at > now)
    return connection.execute(query).mappings().one_or_none()


def _reply(row: RowMapping, request: Repeatable) -> bytes:
    if row["fingerprint"] != request.fingerprint:
        raise KeyReusedError(_REUSED)
    if row["sealed"] is None:
        raise KeyInUseError(_IN_USE)
    sealed: bytes = row["sealed"]
    return sealed


def _is(request: Repeatable) -> ColumnElement[bool]:
    return and_(replies.c.account_id == request.account_id, replies.c.key_digest == request.key_digest)


def _is_held(claim: Claim) -> ColumnElement[bool]:
    return and_(_is(claim.request), replies.c.claim_id == claim.claim_id, replies.c.sealed.is_(None))


def _row_of(claim: Claim, now: datetime) -> dict[str, Any]:
    return {
        "account_id": claim.request.account_id,
        "key_digest": claim.request.key_digest,
        "fingerprint": claim.request.fingerprint,
        "claim_id": claim.claim_id,
        "sealed": None,
        "expires_at": now + ANSWERED_WITHIN,
    }
