"""Queue of messages to notification channels: so many an hour and project, and a summary of the others."""

import hashlib
import json
import math
from base64 import b32encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, select

from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError, TooManyTestsError
from pipeline.store.catalog.ids import ID_LENGTH, new_id
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import webhook_deliveries, webhooks
from pipeline.store.catalog.webhooks.channel_message import ChannelMessage
from pipeline.store.catalog.webhooks.message_queue import add_delivery, content_of, webhook_from
from pipeline.store.catalog.webhooks.webhook_records import (
    CHANNEL_KINDS,
    CHANNEL_TEST,
    SUMMARY,
    Delivery,
    Webhook,
)

HOUR: Final = timedelta(hours=1)
MOST_AN_HOUR: Final = 20
# A summary names so many.
_MOST_NAMED: Final = 20


class ChannelMessages:
    """Messages that are of no change in the catalog: of nights, digests and summaries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tell(self, message: ChannelMessage, *, key: str, now: datetime) -> None:
        """Queue a message for the channels of its event, once by its key; NotFoundError."""
        with self._database.write() as connection:
            lock_project(connection, message.project_id)
            queue_message(connection, message, key=key, now=now)

    def tell_one(self, channel: Webhook, message: ChannelMessage, *, key: str, now: datetime) -> None:
        """Queue a message for one channel, once by its key; it is put off while the hour has its most."""
        with self._database.write() as connection:
            lock_project(connection, message.project_id)
            is_there = select(webhooks.c.id).where(webhooks.c.id == channel.id)
            if connection.scalar(is_there) is None:
                raise NotFoundError("notification channel", channel.id)
            if not _is_full(connection, message.project_id, now):
                _add(connection, channel, message, key=key, now=now)

    def is_told(self, channel: Webhook, key: str) -> bool:
        """Return whether a message of that key was queued for a channel."""
        query = select(webhook_deliveries.c.id).where(webhook_deliveries.c.id == _message_id(channel.id, key))
        with self._database.read() as connection:
            return connection.scalar(query) is not None

    def projects_to_summarize(self, *, now: datetime) -> list[str]:
        """List the ids of projects whose messages await a summary that is due."""
        query = (
            select(webhooks.c.project_id)
            .join(webhook_deliveries, webhook_deliveries.c.webhook_id == webhooks.c.id)
            .where(*_AWAITING, webhook_deliveries.c.created_at <= now - HOUR)
            .distinct()
        )
        with self._database.read() as connection:
            return sorted(connection.scalars(query))

    def summarize(self, project_id: str, *, now: datetime) -> None:
        """Queue one summary for each channel of the messages that await it; NotFoundError."""
        awaiting = select(webhook_deliveries).where(_of_channels(project_id), *_AWAITING)
        order = (webhook_deliveries.c.created_at, webhook_deliveries.c.id)
        with self._database.write() as connection:
            lock_project(connection, project_id)
            found: dict[str, list[Delivery]] = {}
            for row in connection.execute(awaiting.order_by(*order)).mappings():
                found.setdefault(row["webhook_id"], []).append(Delivery(**row))
            named = select(webhooks).where(webhooks.c.id.in_(found))
            for row in connection.execute(named).mappings().all():
                held = found[row["id"]]
                _add(connection, webhook_from(row), _summary_of(held), key=f"{SUMMARY} {held[0].id}", now=now)
            ended = webhook_deliveries.update().where(_of_channels(project_id), *_AWAITING)
            connection.execute(ended.values(ended_at=now))


def queue_message(
    connection: Connection, message: ChannelMessage, *, now: datetime, key: str | None = None
) -> None:
    """Queue a message for the channels of its event, in the caller's transaction that has locked the project.

    Beyond the most of an hour it awaits a summary. With a key it is queued once.
    """
    query = select(webhooks).where(
        webhooks.c.project_id == message.project_id,
        webhooks.c.kind.in_(CHANNEL_KINDS),
        webhooks.c.disabled_reason.is_(None),
    )
    channels = [webhook_from(row) for row in connection.execute(query).mappings()]
    told = [channel for channel in channels if message.event in channel.events]
    awaits_summary = bool(told) and _is_full(connection, message.project_id, now)
    for channel in told:
        _add(connection, channel, message, key=key, now=now, awaits_summary=awaits_summary)


def first_channel_at(connection: Connection, project_id: str) -> datetime | None:
    """Return when the oldest channel of a project was created; None without any."""
    of_project = (webhooks.c.project_id == project_id, webhooks.c.kind.in_(CHANNEL_KINDS))
    found: datetime | None = connection.scalar(select(func.min(webhooks.c.created_at)).where(*of_project))
    return found


def require_few_tests(connection: Connection, project_id: str, *, now: datetime) -> None:
    """Raise TooManyTestsError where the channels have sent as many tests as they may within an hour."""
    sent = select(webhook_deliveries.c.created_at).where(
        _of_channels(project_id),
        webhook_deliveries.c.type == CHANNEL_TEST,
        webhook_deliveries.c.created_at > now - HOUR,
    )
    times = connection.scalars(sent.order_by(webhook_deliveries.c.created_at.desc())).all()
    if len(times) >= MOST_AN_HOUR:
        wait = times[MOST_AN_HOUR - 1] + HOUR - now
        raise TooManyTestsError(MOST_AN_HOUR, max(1, math.ceil(wait.total_seconds())))


def _add(  # noqa: PLR0913 - each is a fact of the message
    connection: Connection,
    channel: Webhook,
    message: ChannelMessage,
    *,
    now: datetime,
    key: str | None,
    awaits_summary: bool = False,
) -> None:
    delivery = Delivery(
        id=new_id("msg") if key is None else _message_id(channel.id, key),
        webhook_id=channel.id,
        type=message.event,
        content=content_of(message.event, message.data, at=now),
        created_at=now,
        next_attempt_at=now,
    )
    if awaits_summary:
        delivery = replace(delivery, status="summarized", next_attempt_at=None)
    is_known = select(webhook_deliveries.c.id).where(webhook_deliveries.c.id == delivery.id)
    if connection.scalar(is_known) is None:
        add_delivery(connection, channel, delivery, now=now)


def _message_id(channel_id: str, key: str) -> str:
    """Derive the id of a message of a channel, the same one whenever it is queued."""
    digest = hashlib.blake2b(f"{channel_id} {key}".encode(), digest_size=20).digest()
    return f"msg_{b32encode(digest).decode().lower()[:ID_LENGTH]}"


def _is_full(connection: Connection, project_id: str, now: datetime) -> bool:
    """Return whether the project's channels were told of as much as they may be within an hour."""
    awaiting = select(webhook_deliveries.c.id).where(_of_channels(project_id), *_AWAITING).limit(1)
    if connection.scalar(awaiting) is not None:
        return True
    # One message to several channels has the same content.
    sent = select(func.count(webhook_deliveries.c.content.distinct())).where(
        _of_channels(project_id),
        webhook_deliveries.c.created_at > now - HOUR,
        webhook_deliveries.c.status != "summarized",
        webhook_deliveries.c.type != CHANNEL_TEST,
    )
    return (connection.scalar(sent) or 0) >= MOST_AN_HOUR


def _of_channels(project_id: str) -> ColumnElement[bool]:
    of_project = (webhooks.c.project_id == project_id, webhooks.c.kind.in_(CHANNEL_KINDS))
    return webhook_deliveries.c.webhook_id.in_(select(webhooks.c.id).where(*of_project))


_AWAITING: Final = (webhook_deliveries.c.status == "summarized", webhook_deliveries.c.ended_at.is_(None))


def _summary_of(held: Sequence[Delivery]) -> ChannelMessage:
    told = [json.loads(one.content)["data"] for one in held]
    named = [one["title"] for one in told[:_MOST_NAMED]]
    if len(told) > _MOST_NAMED:
        named.append(f"{len(told) - _MOST_NAMED} more are listed as deliveries of this channel.")
    about = told[0]
    noun = "message" if len(told) == 1 else "messages"
    return ChannelMessage(
        event=SUMMARY,
        project_id=about["project_id"],
        project_name=about["project_name"],
        title=f"{about['project_name']}: {len(told)} more {noun} than an hour may have",
        paragraphs=named,
        path=f"/projects/{about['project_id']}",
    )
