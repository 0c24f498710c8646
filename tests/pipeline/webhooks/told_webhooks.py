"""Webhooks that are told of a project, the deliveries to them, and what their endpoint received."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.encryption_key import open_cipher
from pipeline.store.catalog.webhooks.webhook_records import Delivery, Webhook
from pipeline.webhooks.webhook_messages import deliver_messages
from pipeline.webhooks.webhook_requests import draft_webhook
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.receiving_endpoint import Endpoint

SECOND = timedelta(seconds=1)


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


def deliver(service: RestartableService, *, after: timedelta = SECOND) -> None:
    """Let the job run some time later."""
    service.now = max(service.now, utc_now()) + after
    deliver_messages(service.store)


def reread(service: RestartableService, webhook: Webhook) -> Webhook:
    return service.store.catalog.webhooks.get(webhook.project_id, webhook.id)


def messages(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(received.body) for received in endpoint.received]


def types(endpoint: Endpoint) -> list[str]:
    return [message["type"] for message in messages(endpoint)]


def change(service: RestartableService, experiment: Experiment, *steps: Any) -> None:
    for step in steps:
        service.store.catalog.experiments.change(
            experiment.project_id, experiment.id, partial(step, now=utc_now()), actor="test"
        )
