"""Notification channels of a project, and messages that are queued for them."""

from typing import Any

from engine.design.project import Project
from pipeline.encryption_key import open_cipher
from pipeline.store.catalog.webhooks.channel_message import project_message
from pipeline.store.catalog.webhooks.webhook_records import Webhook
from pipeline.webhooks.channel_requests import ChannelRules, draft_channel
from tests.pipeline.restartable_service import RestartableService

ADA, BO, CY = "ada@acme.example", "bo@acme.example", "cy@lists.example"


def a_channel(service: RestartableService, project: Project, kind: str, **fields: Any) -> Webhook:
    """Create a channel; of e-mail to ADA, BO and CY unless addresses are given."""
    store = service.store
    members = store.catalog.members.accepted(project.account_id)
    rules = ChannelRules(store.settings, open_cipher(store.settings), members)
    given = {"addresses": [ADA, BO, CY]} if kind == "email" and "addresses" not in fields else {}
    drafted = draft_channel(rules, project.id, {"kind": kind, **given, **fields}, now=service.now)
    return store.catalog.notification_channels.create(drafted, actor="test")


def tell(
    service: RestartableService, project: Project, title: str = "Night", *, key: str | None = None
) -> None:
    """Queue a message for every channel of the project that is told of failed nights."""
    message = project_message("night_failed", project, title, "It failed.")
    service.store.catalog.channel_messages.tell(message, key=key or title, now=service.now)


def queued(service: RestartableService, channel: Webhook) -> list[tuple[str, str]]:
    """List the type and status of a channel's messages, oldest first."""
    found = service.store.catalog.deliveries.page(channel.id, per_page=2000).items
    return [(one.type, one.status) for one in sorted(found, key=lambda one: (one.created_at, one.id))]
