"""Deliveries to a webhook: list them, and send a test."""

from typing import Annotated

from fastapi import Path

from api.deps import (
    CatalogDep,
    Now,
    PageNumber,
    PerPage,
    ProjectOfReadableWebhooks,
    ProjectOfWritableWebhooks,
    ProjectsWriter,
)
from api.errors import KEY_CODES, ApiError, documented
from api.idempotency.route import IdempotentRoute
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.webhooks import Delivery

router = router_at(
    PREFIX + "/projects/{project_id}/webhooks/{id}",
    tags=["Webhooks"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
WebhookId = Annotated[str, Path(alias="id")]


@router.get("/deliveries", responses=documented("validation_error"))
def list_webhook_deliveries(
    project: ProjectOfReadableWebhooks,
    webhook_id: WebhookId,
    catalog: CatalogDep,
    page: PageNumber = 1,
    per_page: PerPage = 25,
) -> Listing[Delivery]:
    """List the messages of the last 30 days, newest first, with what came of each."""
    webhook = catalog.webhooks.get(project.id, webhook_id)
    found = catalog.deliveries.page(webhook.id, page=page, per_page=per_page)
    return Listing(
        data=[Delivery.of(delivery) for delivery in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post("/test", status_code=202, responses=documented("invalid_request"))
def test_webhook(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    webhook_id: WebhookId,
    catalog: CatalogDep,
    now: Now,
) -> Single[Delivery]:
    """Queue a test message, which is sent within seconds; `list_webhook_deliveries` shows what came of it."""
    webhook = catalog.webhooks.get(project.id, webhook_id)
    if webhook.disabled_reason is not None:
        raise ApiError("invalid_request", "the webhook is disabled; enable it first")
    queued = catalog.deliveries.add_test(webhook, project, actor=caller.actor, now=now)
    return Single(data=Delivery.of(queued))
