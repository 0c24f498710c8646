"""Share links: results of one experiment without a key, found by the digest of a token that is not stored."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, delete, func, select

from engine.design.project import Project
from engine.errors import Problem
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError, SharingForbiddenError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.plans import SERVED_STATUSES
from pipeline.store.catalog.schema import (
    accounts,
    api_keys,
    experiment_listings,
    members,
    projects,
    share_links,
)
from pipeline.store.catalog.sharing.link_endings import end_links, is_open
from pipeline.store.catalog.tokens import digest_of
from pipeline.store.documents import value_of

# Of an experiment at once.
MOST_OPEN: Final = 20
MOST_LISTED: Final = 100
# After its last possible day a link is no longer listed, and then removed.
KEPT_AFTER_END: Final = timedelta(days=90)
TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLink:
    """A link to the results of an experiment, made by a member with a key."""

    id: str
    account_id: str
    project_id: str
    experiment_id: str
    experiment_name: str
    member_id: str
    member_name: str
    shows_money: bool
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    def is_open(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired."""
        return self.revoked_at is None and now < self.expires_at


class ShareLinks:
    """Repository of share links; they are deleted with their experiment and with the key of their maker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(  # noqa: PLR0913 - each is a fact of the link
        self,
        project: Project,
        experiment_id: str,
        key_id: str,
        *,
        lifetime: timedelta,
        shows_money: bool,
        now: datetime,
    ) -> tuple[ShareLink, str]:
        """Create and audit a link; returns it and its token, of which a digest is stored.

        NotFoundError; SharingForbiddenError where the project allows none; InvalidRecordError where the
        experiment has as many as it may have.
        """
        token, link_id = secrets.token_urlsafe(TOKEN_BYTES), new_id("shr")
        facts = {
            "id": link_id,
            "project_id": project.id,
            "experiment_id": experiment_id,
            "key_id": key_id,
            "shows_money": shows_money,
            "created_at": now,
            "expires_at": now + lifetime,
            "revoked_at": None,
        }
        with self._database.write() as connection:
            _require_allowed(connection, project.id, key_id)
            connection.execute(delete(share_links).where(share_links.c.expires_at <= now - KEPT_AFTER_END))
            _require_room(connection, experiment_id, now)
            connection.execute(share_links.insert().values(**facts, digest=digest_of(token)))
            record(connection, project.account_id, key_id, link_id, changes_between({}, facts))
            is_this = share_links.c.id == link_id
            return ShareLink(**connection.execute(_LINKS.where(is_this)).mappings().one()), token

    def find(self, token: str, *, now: datetime) -> ShareLink | None:
        """Return the open link of a token; None for one that is unknown, over, or of an account not served.

        The look-up compares digests, so that its time tells nothing of a token.
        """
        query = _LINKS.where(
            share_links.c.digest == digest_of(token),
            is_open(now),
            accounts.c.subscription_status.in_(SERVED_STATUSES),
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else ShareLink(**row)

    def of_experiment(self, experiment_id: str) -> list[ShareLink]:
        """List the newest links of an experiment, ended ones included."""
        query = _LINKS.where(share_links.c.experiment_id == experiment_id).order_by(*_NEWEST)
        with self._database.read() as connection:
            return [ShareLink(**row) for row in connection.execute(query.limit(MOST_LISTED)).mappings()]

    def open_of_account(
        self, account_id: str, *, now: datetime, page: int = 1, per_page: int = 25
    ) -> Page[ShareLink]:
        """List a page of the open links of an account, newest first."""
        query = _LINKS.where(api_keys.c.account_id == account_id, is_open(now))
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query.order_by(*_NEWEST), page, per_page)
        return Page([ShareLink(**row) for row in rows], page, per_page, total)

    def revoke(
        self, account_id: str, experiment_id: str, link_id: str, *, actor: str, now: datetime
    ) -> ShareLink:
        """End a link at once; one that is over stays as it is. NotFoundError."""
        is_this = (share_links.c.id == link_id) & (share_links.c.experiment_id == experiment_id)
        with self._database.write() as connection:
            end_links(connection, is_this, account_id=account_id, actor=actor, now=now)
            row = connection.execute(_LINKS.where(is_this)).mappings().one_or_none()
        if row is None:
            raise NotFoundError("share link", link_id)
        return ShareLink(**row)

    def revoke_all(self, account_id: str, *, actor: str, now: datetime) -> int:
        """End every open link of an account at once, and return how many there were."""
        keys = select(api_keys.c.id).where(api_keys.c.account_id == account_id)
        with self._database.write() as connection:
            those = share_links.c.key_id.in_(keys)
            return end_links(connection, those, account_id=account_id, actor=actor, now=now)


_NEWEST: Final = (share_links.c.created_at.desc(), share_links.c.id)
_LINKS: Final = (
    select(
        share_links.c.id,
        api_keys.c.account_id,
        share_links.c.project_id,
        share_links.c.experiment_id,
        experiment_listings.c.name.label("experiment_name"),
        api_keys.c.member_id,
        members.c.name.label("member_name"),
        share_links.c.shows_money,
        share_links.c.created_at,
        share_links.c.expires_at,
        share_links.c.revoked_at,
    )
    .join(experiment_listings, experiment_listings.c.experiment_id == share_links.c.experiment_id)
    .join(api_keys, api_keys.c.id == share_links.c.key_id)
    .join(members, members.c.id == api_keys.c.member_id)
    .join(accounts, accounts.c.id == api_keys.c.account_id)
)


def _require_allowed(connection: Connection, project_id: str, key_id: str) -> None:
    """Require a project that allows links and a valid key; neither changes until the commit."""
    project = select(projects.c.document).where(projects.c.id == project_id).with_for_update()
    document = connection.scalar(project)
    key = select(api_keys.c.id).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    if document is None:
        raise NotFoundError("project", project_id)
    if connection.scalar(key.with_for_update()) is None:
        raise NotFoundError("key", key_id)
    if not value_of(document, Project).allows_share_links:
        raise SharingForbiddenError


def _require_room(connection: Connection, experiment_id: str, now: datetime) -> None:
    is_of_it = (share_links.c.experiment_id == experiment_id) & is_open(now)
    number = connection.scalar(select(func.count()).select_from(share_links).where(is_of_it)) or 0
    if number >= MOST_OPEN:
        message = f"{number} links of this experiment work already; revoke one of them first"
        raise InvalidRecordError([Problem("body", message)])
