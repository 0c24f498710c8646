"""Webhooks of a project: list, create, get, update, delete, and replace the secret."""

from functools import partial
from typing import Annotated

from fastapi import Path, Response

from api.bodies.json_body import JsonObject, OptionalJsonObject
from api.deps import (
    CatalogDep,
    Now,
    PageNumber,
    PerPage,
    ProjectOfReadableWebhooks,
    ProjectOfWritableWebhooks,
    ProjectsWriter,
    ServicesDep,
)
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, tag
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import SECRET_ROTATION, WEBHOOK_INPUT
from api.schemas.webhooks import Webhook, WebhookWithSecret
from pipeline.webhooks.webhook_requests import draft_webhook, revise_webhook, rotation_of

router = router_at(
    PREFIX + "/projects/{project_id}/webhooks",
    tags=["Webhooks"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
WebhookId = Annotated[str, Path(alias="id")]


@router.get("", responses=documented("validation_error"))
def list_webhooks(
    project: ProjectOfReadableWebhooks, catalog: CatalogDep, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[Webhook]:
    """List the webhooks of a project, oldest first, without their secrets."""
    found = catalog.webhooks.page(project.id, page=page, per_page=per_page)
    return Listing(
        data=[Webhook.of(webhook) for webhook in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(WEBHOOK_INPUT))
def create_webhook(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    body: JsonObject,
    services: ServicesDep,
    now: Now,
) -> Single[WebhookWithSecret]:
    """Create a webhook; the secret that signs its messages is shown this once."""
    networks = services.settings.reachable_networks
    webhook, secret = draft_webhook(project.id, body, networks, services.cipher, now=now)
    created = services.catalog.webhooks.create(webhook, actor=caller.actor)
    return Single(data=WebhookWithSecret(webhook=Webhook.of(created), secret=secret))


@router.get("/{id}", responses={200: {"headers": TAG_HEADER}})
def get_webhook(
    project: ProjectOfReadableWebhooks, webhook_id: WebhookId, catalog: CatalogDep, response: Response
) -> Single[Webhook]:
    """Get one webhook, and why it is disabled if it is."""
    return Single(data=Webhook.of(tag(catalog.webhooks.get(project.id, webhook_id), response)))


@router.patch(
    "/{id}", responses=documented_write(*BODY_CODES), openapi_extra=taking(WEBHOOK_INPUT.as_changes)
)
def update_webhook(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    webhook_id: WebhookId,
    body: JsonObject,
    precondition: PreconditionDep,
    services: ServicesDep,
    now: Now,
) -> Single[Webhook]:
    """Change the fields that are sent; one that is disabled gives up the messages that wait for it."""
    networks = services.settings.reachable_networks
    revise = precondition.before(partial(revise_webhook, fields=body, networks=networks))
    changed = services.catalog.webhooks.change(project.id, webhook_id, revise, now=now, actor=caller.actor)
    return Single(data=Webhook.of(precondition.tag(changed)))


@router.delete("/{id}", status_code=204)
def delete_webhook(
    caller: ProjectsWriter, project: ProjectOfWritableWebhooks, webhook_id: WebhookId, catalog: CatalogDep
) -> None:
    """Delete a webhook with its deliveries; messages that wait are not sent."""
    catalog.webhooks.delete(project.id, webhook_id, actor=caller.actor)


@router.post(
    "/{id}/rotate_secret",
    responses=documented(*BODY_CODES),
    openapi_extra=taking(SECRET_ROTATION, is_required=False),
)
def rotate_webhook_secret(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    webhook_id: WebhookId,
    body: OptionalJsonObject,
    services: ServicesDep,
    now: Now,
) -> Single[WebhookWithSecret]:
    """Replace the secret; messages are signed by both for `grace_period_hours`, a day by default."""
    rotate, secret = rotation_of(body, services.cipher, now=now)
    changed = services.catalog.webhooks.change(project.id, webhook_id, rotate, now=now, actor=caller.actor)
    return Single(data=WebhookWithSecret(webhook=Webhook.of(changed), secret=secret))
