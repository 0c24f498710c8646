"""Which requests were made before under a key of their sender's choice, and what they were answered."""

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
# Whoever claimed a key and has not answered by then is gone; what it wrote by then it cannot commit.
ANSWERED_WITHIN: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that its sender may repeat: the key, and a digest of everything it asks for."""

    account_id: str
    key: str
    fingerprint: str

    @property
    def key_digest(self) -> str:
        """What is kept of the key, whose text is its sender's own business."""
        return hashlib.sha256(self.key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer a request, until another takes it over."""

    request: Repeatable
    claim_id: str


class Replies:
    """Sealed answers by account and key; one answer a key, for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, request: Repeatable, *, now: datetime) -> Claim | bytes:
        """The right to answer a request, or the sealed answer that it has got already.

        KeyReusedError where the key stands for another request, KeyInUseError where it is being answered.
        """
        # Without a lock: the first request may be holding it, and is to be told of rather than waited for.
        with self._database.read() as connection:
            found = _unexpired(connection, request, now)
        if found is not None:
            return _answer(found, request)
        claim = Claim(request, new_id("clm"))
        try:
            with self._database.write() as connection:
                found = _unexpired(connection, request, now)
                if found is not None:
                    return _answer(found, request)
                # Not one that another has just made: PostgreSQL shows it to this statement already.
                connection.execute(replies.delete().where(_is(request), replies.c.expires_at <= now))
                connection.execute(replies.insert().values(_row_of(claim, now)))
        except IntegrityError as error:
            # PostgreSQL lets two look at once; the second to claim finds the first there.
            raise KeyInUseError(_IN_USE) from error
        return claim

    def find(self, request: Repeatable, *, now: datetime) -> bytes | None:
        """The sealed answer that a request has got; None for one that is new or being answered."""
        with self._database.read() as connection:
            found = _unexpired(connection, request, now)
        if found is None or found["fingerprint"] != request.fingerprint:
            return None
        sealed: bytes | None = found["sealed"]
        return sealed

    def keep(self, claim: Claim, sealed: bytes, *, now: datetime) -> None:
        """Keep the answer for a day; KeyInUseError where another has taken the request over."""
        kept = replies.update().where(_is_held(claim)).values(sealed=sealed, expires_at=now + KEPT_FOR)
        with self._database.write() as connection:
            if connection.execute(kept).rowcount != 1:
                raise KeyInUseError(_IN_USE)

    def release(self, claim: Claim) -> None:
        """Give a claim back: the request was not answered, and may be made again."""
        with self._database.write() as connection:
            connection.execute(replies.delete().where(_is_held(claim)))

    def release_all(self) -> None:
        """Give back every claim: whoever held one is no more."""
        with self._database.write() as connection:
            connection.execute(replies.delete().where(replies.c.sealed.is_(None)))

    def forget_expired(self, *, now: datetime) -> int:
        """Remove what is no longer replayed; returns how many there were."""
        with self._database.write() as connection:
            return connection.execute(replies.delete().where(replies.c.expires_at <= now)).rowcount


_IN_USE: Final = "a request with this Idempotency-Key is being answered; wait a moment and send it again"
_REUSED: Final = "this Idempotency-Key stands for a different request; use a new key for a new request"


def _unexpired(connection: Connection, request: Repeatable, now: datetime) -> RowMapping | None:
    query = select(replies.c.fingerprint, replies.c.sealed).where(_is(request), replies.c.expires_at > now)
    return connection.execute(query).mappings().one_or_none()


def _answer(found: RowMapping, request: Repeatable) -> bytes:
    if found["fingerprint"] != request.fingerprint:
        raise KeyReusedError(_REUSED)
    if found["sealed"] is None:
        raise KeyInUseError(_IN_USE)
    sealed: bytes = found["sealed"]
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
