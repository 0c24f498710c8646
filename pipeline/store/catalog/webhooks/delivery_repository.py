"""Repository of deliveries: those that are due, and what came of each attempt."""

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import func, select

from engine.design.project import Project
from pipeline.store.catalog.audit import record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import projects, webhook_deliveries, webhooks
from pipeline.store.catalog.webhooks.channel_message import project_message
from pipeline.store.catalog.webhooks.channel_queue import require_few_tests
from pipeline.store.catalog.webhooks.message_queue import disable, enqueue, webhook_from
from pipeline.store.catalog.webhooks.webhook_records import (
    CHANNEL_TEST,
    TEST,
    Delivery,
    DisabledReason,
    Webhook,
)

KEPT_FOR: Final = timedelta(days=30)
# Messages to an endpoint wait so long after one of them failed, at least.
ENDPOINT_PAUSE: Final = timedelta(minutes=1)


class Deliveries:
    """Repository of deliveries; they are deleted with their webhook."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, webhook_id: str, *, page: int = 1, per_page: int = 25) -> Page[Delivery]:
        """List a page of a webhook's deliveries, newest first."""
        query = (
            select(webhook_deliveries)
            .where(webhook_deliveries.c.webhook_id == webhook_id)
            .order_by(webhook_deliveries.c.created_at.desc(), webhook_deliveries.c.id)
        )
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([Delivery(**row) for row in rows], page, per_page, total)

    def add_test(self, webhook: Webhook, project: Project, *, actor: str, now: datetime) -> Delivery:
        """Queue and audit a test message for a webhook or channel of a project; TooManyTestsError."""
        event, data = TEST, {"project_id": project.id}
        if webhook.kind != "webhook":
            title = f"{project.name}: a test message of Truelift"
            event, data = CHANNEL_TEST, project_message(CHANNEL_TEST, project, title).data
        with self._database.write() as connection:
            if webhook.kind != "webhook":
                lock_project(connection, project.id)
                require_few_tests(connection, project.id, now=now)
            delivery = enqueue(connection, webhook, event, data, at=now)
            record(connection, project.account_id, actor, webhook.id, {"tested": [None, delivery.id]})
        return delivery

    def due(self, *, now: datetime, most: int) -> list[tuple[str, Webhook, list[Delivery]]]:
        """List at most so many due deliveries of each webhook, with its account; the longest due first."""
        order = [webhook_deliveries.c[name] for name in ("next_attempt_at", "created_at", "id")]
        place = func.row_number().over(partition_by=webhook_deliveries.c.webhook_id, order_by=order)
        ranked = (
            select(webhook_deliveries.c.id, place.label("place"))
            .where(webhook_deliveries.c.next_attempt_at <= now)
            .subquery()
        )
        first = select(ranked.c.id).where(ranked.c.place <= most)
        query = select(webhook_deliveries).where(webhook_deliveries.c.id.in_(first)).order_by(*order)
        found: dict[str, list[Delivery]] = {}
        with self._database.read() as connection:
            for row in connection.execute(query).mappings():
                found.setdefault(row["webhook_id"], []).append(Delivery(**row))
            if not found:
                return []
            is_found = webhooks.c.id.in_(found)
            named = select(webhooks).where(is_found)
            by_id = {row["id"]: webhook_from(row) for row in connection.execute(named).mappings()}
            owned = select(webhooks.c.id, projects.c.account_id).join(projects).where(is_found)
            accounts = {row.id: row.account_id for row in connection.execute(owned)}
        return [(accounts[one], by_id[one], waiting) for one, waiting in found.items() if one in by_id]

    def pending_count(self) -> int:
        """Count the deliveries that wait for an attempt."""
        query = select(func.count()).where(webhook_deliveries.c.next_attempt_at.is_not(None))
        with self._database.read() as connection:
            return connection.scalar(query) or 0

    def note_success(
        self, delivery: Delivery, response_status: int | None, *, now: datetime, error: str | None = None
    ) -> None:
        """End a delivery that the endpoint has accepted; `error` tells of recipients that it refused."""
        ended = {
            "status": "delivered",
            "attempts": delivery.attempts + 1,
            "next_attempt_at": None,
            "ended_at": now,
            "response_status": response_status,
            "error": error,
        }
        is_its_webhook = webhooks.c.id == delivery.webhook_id
        with self._database.write() as connection:
            connection.execute(_update(delivery).values(ended))
            connection.execute(webhooks.update().where(is_its_webhook).values(delivered_at=now))

    def note_failure(  # noqa: PLR0913 - each is a fact of the attempt
        self,
        delivery: Delivery,
        *,
        error: str,
        response_status: int | None,
        now: datetime,
        next_attempt_at: datetime | None,
        disable_as: DisabledReason | None = None,
        reached: bytes | None = None,
    ) -> None:
        """Note a failed attempt; without a next one the delivery has failed.

        Other messages to the endpoint are tried a minute later at the earliest, so that one that is down
        delays no other endpoint. With `disable_as`, the webhook is disabled unless a message has reached it
        since this one was written. `reached` is whom an e-mail has reached, although it failed for others.
        """
        noted = {
            "status": "pending" if next_attempt_at else "failed",
            "attempts": delivery.attempts + 1,
            "next_attempt_at": next_attempt_at,
            "ended_at": None if next_attempt_at else now,
            "response_status": response_status,
            "error": error,
            **({} if reached is None else {"reached": reached}),
        }
        pause_until = now + ENDPOINT_PAUSE
        is_sooner = webhook_deliveries.c.next_attempt_at < pause_until
        of_same = webhook_deliveries.c.webhook_id == delivery.webhook_id
        others = webhook_deliveries.update().where(of_same, is_sooner, webhook_deliveries.c.id != delivery.id)
        with self._database.write() as connection:
            connection.execute(_update(delivery).values(noted))
            connection.execute(others.values(next_attempt_at=pause_until))
            is_its_webhook = webhooks.c.id == delivery.webhook_id
            if reached is not None:
                connection.execute(webhooks.update().where(is_its_webhook).values(delivered_at=now))
            if disable_as is None:
                return
            query = select(webhooks).where(is_its_webhook).with_for_update()
            row = connection.execute(query).mappings().one_or_none()
            if row is None or row["disabled_reason"] is not None:
                return
            last = row["delivered_at"]
            if disable_as == "gone" or last is None or last < delivery.created_at:
                disable(connection, webhook_from(row), disable_as, now=now)

    def delete_old(self, *, now: datetime) -> int:
        """Delete deliveries that ended long ago, and return their number."""
        is_old = webhook_deliveries.c.ended_at < now - KEPT_FOR
        with self._database.write() as connection:
            return connection.execute(webhook_deliveries.delete().where(is_old)).rowcount


def _update(delivery: Delivery) -> Any:  # noqa: ANN401 - an UPDATE that awaits its values
    # One that was given up meanwhile, with its webhook, stays so.
    is_pending = webhook_deliveries.c.status == "pending"
    return webhook_deliveries.update().where(webhook_deliveries.c.id == delivery.id, is_pending)
