"""Ends of share links: with the right of their maker, their project's permission, or by hand."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_

from pipeline.store.catalog.audit import record
from pipeline.store.catalog.schema import share_links


def is_open(now: datetime) -> ColumnElement[bool]:
    """Return the condition of links that are neither revoked nor expired."""
    return and_(share_links.c.revoked_at.is_(None), share_links.c.expires_at > now)


def end_links(
    connection: Connection, those: ColumnElement[Any], *, account_id: str, actor: str, now: datetime
) -> int:
    """End and audit the open links that meet a condition, in the caller's transaction; return how many."""
    ending = share_links.update().where(those, is_open(now)).values(revoked_at=now)
    ended = connection.scalars(ending.returning(share_links.c.id)).all()
    for link_id in ended:
        record(connection, account_id, actor, link_id, {"revoked_at": [None, now]})
    return len(ended)
