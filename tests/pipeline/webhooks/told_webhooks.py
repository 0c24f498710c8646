"""Webhooks that are told of a project, and the deliveries to them."""

from typing import Any

from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.encryption_key import open_cipher
from pipeline.store.catalog.webhooks.webhook_records import Delivery, Webhook
from pipeline.webhooks.webhook_requests import draft_webhook
from tests.pipeline.restartable_service import RestartableService


def told(service: RestartableService, project: Project, url: str, **fields: Any) -> tuple[Webhook, str]:
    """Create a webhook; returns it with its secret."""
    settings = service.store.settings
    webhook, secret = draft_webhook(
        project.id,
        {"url": url, **fields},
        settings.reachable_networks,
        open_cipher(settings),
        now=utc_now(),
    )
    return service.store.catalog.webhooks.create(webhook, actor="test"), secret


def deliveries(service: RestartableService, webhook: Webhook) -> list[Delivery]:
    return [*service.store.catalog.deliveries.page(webhook.id, per_page=2000).items][::-1]
