"""Repository of webhooks, and that of notification channels."""

from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select

from engine.errors import Problem
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import webhooks
from pipeline.store.catalog.webhooks.message_queue import disable, webhook_from
from pipeline.store.catalog.webhooks.webhook_records import WEBHOOK_KINDS, ChannelEvent, Event, Kind, Webhook

MOST_WEBHOOKS: Final = 10


class Webhooks:
    """Repository of webhooks, or of channels; deleted with their project, and their deliveries with them."""

    def __init__(
        self, database: Database, kinds: Collection[Kind] = WEBHOOK_KINDS, *, noun: str = "webhook"
    ) -> None:
        """Keep those of some kinds, which messages call by a noun."""
        self._database = database
        self._is_kept = webhooks.c.kind.in_(kinds)
        self._noun = noun

    def create(self, webhook: Webhook, *, actor: str) -> Webhook:
        """Save a new webhook; NotFoundError for an unknown project.

        InvalidRecordError where the project has as many as it may.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, webhook.project_id)
            query = select(func.count()).where(webhooks.c.project_id == webhook.project_id, self._is_kept)
            if (connection.scalar(query) or 0) >= MOST_WEBHOOKS:
                many = f"{MOST_WEBHOOKS} {self._noun}s"
                message = f"the project has {many}, the most that are possible; delete one"
                raise InvalidRecordError([Problem("body", message)])
            connection.execute(webhooks.insert().values(_row_of(webhook)))
            record(connection, account_id, actor, webhook.id, changes_between({}, webhook.facts()))
        return webhook

    def get(self, project_id: str, webhook_id: str) -> Webhook:
        """Return a webhook of a project; NotFoundError."""
        with self._database.read() as connection:
            return self._find(connection, project_id, webhook_id)

    def page(self, project_id: str, *, page: int = 1, per_page: int = 25) -> Page[Webhook]:
        """List a page of a project's webhooks, oldest first."""
        query = (
            select(webhooks)
            .where(webhooks.c.project_id == project_id, self._is_kept)
            .order_by(webhooks.c.created_at, webhooks.c.id)
        )
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([webhook_from(row) for row in rows], page, per_page, total)

    def enabled(self) -> list[Webhook]:
        """List those of all projects that messages are sent to."""
        query = select(webhooks).where(webhooks.c.disabled_reason.is_(None), self._is_kept)
        with self._database.read() as connection:
            return [webhook_from(row) for row in connection.execute(query).mappings()]

    def projects_told_of(self, events: Collection[Event | ChannelEvent]) -> list[str]:
        """List the ids of projects with one that is told of one of the events."""
        return sorted({one.project_id for one in self.enabled() if not set(events).isdisjoint(one.events)})

    def disabled_count(self) -> int:
        """Count the webhooks and channels that the service has disabled by itself."""
        query = select(func.count()).where(webhooks.c.disabled_reason.in_(("gone", "failing", "queue_full")))
        with self._database.read() as connection:
            return connection.scalar(query) or 0

    def change(
        self,
        project_id: str,
        webhook_id: str,
        decide: Callable[[Webhook], Webhook],
        *,
        now: datetime,
        actor: str,
    ) -> Webhook:
        """Load a webhook, change it by `decide`, and save and audit it, in one transaction; NotFoundError.

        The messages that wait for one that is disabled are given up.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            before = self._find(connection, project_id, webhook_id)
            after = replace(decide(before), updated_at=now)
            row = _row_of(replace(after, disabled_reason=before.disabled_reason))
            # Written by deliveries, perhaps since it was read.
            del row["delivered_at"]
            connection.execute(webhooks.update().where(webhooks.c.id == webhook_id).values(row))
            changes = changes_between(
                {**before.facts(), "disabled_reason": None}, {**after.facts(), "disabled_reason": None}
            )
            if before.secret != after.secret:
                changes["secret"] = [None, "replaced"]
            if changes:
                record(connection, account_id, actor, webhook_id, changes)
            _change_state(connection, before, after, now=now, actor=actor, account_id=account_id)
        return after

    def delete(self, project_id: str, webhook_id: str, *, actor: str) -> None:
        """Delete a webhook with its deliveries, and audit that; NotFoundError."""
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            webhook = self._find(connection, project_id, webhook_id)
            connection.execute(webhooks.delete().where(webhooks.c.id == webhook_id))
            record(connection, account_id, actor, webhook_id, changes_between(webhook.facts(), {}))

    def _find(self, connection: Connection, project_id: str, webhook_id: str) -> Webhook:
        is_this = (webhooks.c.project_id == project_id, webhooks.c.id == webhook_id)
        row = connection.execute(select(webhooks).where(*is_this, self._is_kept)).mappings().one_or_none()
        if row is None:
            raise NotFoundError(self._noun, webhook_id)
        return webhook_from(row)


def _change_state(  # noqa: PLR0913 - the change, and who made it
    connection: Connection, before: Webhook, after: Webhook, *, now: datetime, actor: str, account_id: str
) -> None:
    reason = after.disabled_reason
    if reason == before.disabled_reason:
        return
    if reason is not None:
        disable(connection, before, reason, now=now, actor=actor)
        return
    connection.execute(webhooks.update().where(webhooks.c.id == after.id).values(disabled_reason=None))
    record(connection, account_id, actor, after.id, {"disabled_reason": [before.disabled_reason, None]})


def _row_of(webhook: Webhook) -> dict[str, Any]:
    return {**asdict(webhook), "events": [*webhook.events]}
