"""Notification channels of a project: list, create, get, update, delete, test, and list deliveries."""

from functools import partial
from typing import Annotated

from fastapi import Path, Response

from api.bodies.json_body import JsonObject
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
from api.errors import BODY_CODES, KEY_CODES, ApiError, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.preconditions import TAG_HEADER, PreconditionDep, documented_write, tag
from api.routers import PREFIX, router_at
from api.schemas.channels import ChannelDelivery, NotificationChannel
from api.schemas.envelopes import Listing, Meta, Single
from api.schemas.inputs import CHANNEL_INPUT
from api.services import Services
from engine.design.project import Project
from pipeline.webhooks.channel_requests import ChannelRules, draft_channel, revise_channel

router = router_at(
    PREFIX + "/projects/{project_id}/notification_channels",
    tags=["Webhooks"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)
ChannelId = Annotated[str, Path(alias="id")]


@router.get("", responses=documented("validation_error"))
def list_notification_channels(
    project: ProjectOfReadableWebhooks, catalog: CatalogDep, page: PageNumber = 1, per_page: PerPage = 25
) -> Listing[NotificationChannel]:
    """List the notification channels of a project, oldest first, with masked destinations."""
    found = catalog.notification_channels.page(project.id, page=page, per_page=per_page)
    return Listing(
        data=[NotificationChannel.of(channel) for channel in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post("", status_code=201, responses=documented(*BODY_CODES), openapi_extra=taking(CHANNEL_INPUT))
def create_notification_channel(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    body: JsonObject,
    services: ServicesDep,
    now: Now,
) -> Single[NotificationChannel]:
    """Create a channel of Slack, Teams or e-mail; its destination is encrypted, and returned masked."""
    channel = draft_channel(_rules(services, project), project.id, body, now=now)
    created = services.catalog.notification_channels.create(channel, actor=caller.actor)
    return Single(data=NotificationChannel.of(created))


@router.get("/{id}", responses={200: {"headers": TAG_HEADER}})
def get_notification_channel(
    project: ProjectOfReadableWebhooks, channel_id: ChannelId, catalog: CatalogDep, response: Response
) -> Single[NotificationChannel]:
    """Get one channel, and why it is disabled if it is."""
    found = catalog.notification_channels.get(project.id, channel_id)
    return Single(data=NotificationChannel.of(tag(found, response)))


@router.patch(
    "/{id}", responses=documented_write(*BODY_CODES), openapi_extra=taking(CHANNEL_INPUT.as_changes)
)
def update_notification_channel(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    channel_id: ChannelId,
    body: JsonObject,
    precondition: PreconditionDep,
    services: ServicesDep,
    now: Now,
) -> Single[NotificationChannel]:
    """Change the fields that are sent, but not the kind; one that is disabled gives up what waits for it."""
    revise = precondition.before(partial(revise_channel, rules=_rules(services, project), fields=body))
    channels = services.catalog.notification_channels
    changed = channels.change(project.id, channel_id, revise, now=now, actor=caller.actor)
    return Single(data=NotificationChannel.of(precondition.tag(changed)))


@router.delete("/{id}", status_code=204)
def delete_notification_channel(
    caller: ProjectsWriter, project: ProjectOfWritableWebhooks, channel_id: ChannelId, catalog: CatalogDep
) -> None:
    """Delete a channel with its deliveries; messages that wait are not sent."""
    catalog.notification_channels.delete(project.id, channel_id, actor=caller.actor)


@router.get("/{id}/deliveries", responses=documented("validation_error"))
def list_channel_deliveries(
    project: ProjectOfReadableWebhooks,
    channel_id: ChannelId,
    catalog: CatalogDep,
    page: PageNumber = 1,
    per_page: PerPage = 25,
) -> Listing[ChannelDelivery]:
    """List the messages of the last 30 days, newest first, with what came of each."""
    channel = catalog.notification_channels.get(project.id, channel_id)
    found = catalog.deliveries.page(channel.id, page=page, per_page=per_page)
    return Listing(
        data=[ChannelDelivery.of(delivery) for delivery in found.items],
        meta=Meta(page=page, per_page=per_page, total=found.total),
    )


@router.post("/{id}/test", status_code=202, responses=documented("invalid_request"))
def test_notification_channel(
    caller: ProjectsWriter,
    project: ProjectOfWritableWebhooks,
    channel_id: ChannelId,
    catalog: CatalogDep,
    now: Now,
) -> Single[ChannelDelivery]:
    """Queue a test message, sent within seconds; `list_channel_deliveries` says what was wrong with it."""
    channel = catalog.notification_channels.get(project.id, channel_id)
    if channel.disabled_reason is not None:
        raise ApiError("invalid_request", "the channel is disabled; enable it first")
    queued = catalog.deliveries.add_test(channel, project, actor=caller.actor, now=now)
    return Single(data=ChannelDelivery.of(queued))


def _rules(services: Services, project: Project) -> ChannelRules:
    members = services.catalog.members.accepted(project.account_id)
    return ChannelRules(services.settings, services.cipher, members)
