"""Queue of messages to webhooks, each written in the transaction of what it tells of."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, select

from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import projects, webhook_deliveries, webhooks
from pipeline.store.catalog.webhooks.webhook_records import Delivery, DisabledReason, Event, Webhook

# Of one webhook; it is disabled with the next.
MOST_PENDING: Final = 1000
# In the audit trail.
ACTOR: Final = "webhooks"
_WAS_DISABLED: Final = "the webhook was disabled before"


def announce(
    connection: Connection, experiment: Experiment, event: Event, data: Mapping[str, Any], *, at: datetime
) -> None:
    """Queue a message about an experiment for every webhook that is to be told."""
    query = select(webhooks).where(
        webhooks.c.project_id == experiment.project_id, webhooks.c.disabled_reason.is_(None)
    )
    told = [webhook_from(row) for row in connection.execute(query).mappings()]
    about = {
        "project_id": experiment.project_id,
        "experiment_id": experiment.id,
        "experiment_name": experiment.name,
        "test_key": experiment.test_key,
        **data,
    }
    for webhook in told:
        if event in webhook.events:
            enqueue(connection, webhook, event, about, at=at)


def enqueue(
    connection: Connection, webhook: Webhook, event: str, data: Mapping[str, Any], *, at: datetime
) -> Delivery:
    """Queue a message for one webhook, which is disabled where too many wait already."""
    now = utc_now()
    delivery = Delivery(
        id=new_id("msg"),
        webhook_id=webhook.id,
        type=event,
        content=content_of(event, data, at=at),
        created_at=now,
        next_attempt_at=now,
    )
    add_delivery(connection, webhook, delivery, now=now)
    return delivery


def content_of(event: str, data: Mapping[str, Any], *, at: datetime) -> str:
    """Return the JSON text of a message."""
    message = {"type": event, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": data}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)


def add_delivery(connection: Connection, webhook: Webhook, delivery: Delivery, *, now: datetime) -> None:
    """Save a new delivery to a webhook, which is disabled where too many wait already."""
    connection.execute(webhook_deliveries.insert().values(asdict(delivery)))
    is_pending = webhook_deliveries.c.status == "pending"
    waiting = select(func.count()).where(_is_unended(webhook.id), is_pending)
    if (connection.scalar(waiting) or 0) > MOST_PENDING:
        disable(connection, webhook, "queue_full", now=now)


def disable(
    connection: Connection, webhook: Webhook, reason: DisabledReason, *, now: datetime, actor: str = ACTOR
) -> None:
    """Disable a webhook, audit that, and give up the messages that wait for it."""
    is_this = webhooks.c.id == webhook.id
    connection.execute(webhooks.update().where(is_this).values(disabled_reason=reason, updated_at=now))
    ended = {"status": "failed", "ended_at": now, "next_attempt_at": None, "error": _WAS_DISABLED}
    connection.execute(webhook_deliveries.update().where(_is_unended(webhook.id)).values(ended))
    changes = changes_between({"disabled_reason": webhook.disabled_reason}, {"disabled_reason": reason})
    account_id = connection.scalar(select(projects.c.account_id).where(projects.c.id == webhook.project_id))
    record(connection, str(account_id), actor, webhook.id, changes)


def webhook_from(row: RowMapping) -> Webhook:
    """Build a webhook from its row."""
    return Webhook(**{**row, "events": tuple(row["events"])})


def _is_unended(webhook_id: str) -> ColumnElement[bool]:
    return and_(webhook_deliveries.c.webhook_id == webhook_id, webhook_deliveries.c.ended_at.is_(None))
