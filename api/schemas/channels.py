"""Answers about notification channels and deliveries to them."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, Field

from api.schemas.webhooks import DeliveryState
from pipeline.store.catalog.webhooks import webhook_records
from pipeline.store.catalog.webhooks.webhook_records import (
    ChannelDeliveryStatus,
    ChannelEvent,
    ChannelKind,
    DisabledReason,
)


class NotificationChannel(BaseModel):
    """A channel of Slack or Teams, or e-mail addresses, that is told of news of a project."""

    id: str = Field(examples=["chn_n6d4wrpk3vq7xm2c5tzh"])
    project_id: str
    kind: ChannelKind = Field(description="Where messages are sent: to Slack, Teams or e-mail addresses.")
    destination: str = Field(description="Where messages go, masked.", examples=["https://hooks.slack.com/…"])
    description: str | None = Field(examples=["Growth team"])
    events: list[ChannelEvent] = Field(description="Events that messages are sent for.")
    digest_hour: int | None = Field(
        description="Hour of the project's time zone at which a digest is sent; null for none.", examples=[8]
    )
    enabled: bool = Field(description="Whether messages are sent.")
    disabled_reason: DisabledReason | None = Field(
        description="`gone` after an answer 410, or where every address is of a member who has left; "
        "`failing` after a day without success, `queue_full` where too many messages waited, `on_request` "
        "otherwise; null while it is enabled."
    )
    delivered_at: datetime | None = Field(description="When a message was accepted last.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: webhook_records.Webhook) -> Self:
        """Describe a channel, without its destination in clear."""
        return cls(
            **found.facts(),
            enabled=found.disabled_reason is None,
            delivered_at=found.delivered_at,
            created_at=found.created_at,
            updated_at=found.updated_at,
        )


class ChannelDelivery(DeliveryState):
    """A message to a notification channel, and what came of it."""

    id: str = Field(
        description="The same in each attempt: in the `Message-ID` of an e-mail, `block_id` of Slack's first "
        "block, and `id` of the first element of a card of Teams.",
        examples=["msg_z6d4wpra7hn2qk5vxm3t"],
    )
    channel_id: str = Field(description="Id of the channel.", examples=["chn_n6d4wrpk3vq7xm2c5tzh"])
    status: ChannelDeliveryStatus = Field(
        description="`pending` until a message has been accepted or was given up after a day; `summarized` "
        "of one beyond the most of an hour, which a summary tells of."
    )

    @classmethod
    def of(cls, found: webhook_records.Delivery) -> Self:
        """Describe a delivery."""
        state = DeliveryState.of(found).model_dump()
        return cls(**state, id=found.id, channel_id=found.webhook_id, status=found.status)
