"""Answers about webhooks and deliveries."""

import json
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from pipeline.store.catalog.webhooks import webhook_records
from pipeline.store.catalog.webhooks.webhook_records import DeliveryStatus, DisabledReason, Event


class Webhook(BaseModel):
    """An address that is told of events of a project by signed messages."""

    id: str = Field(examples=["whk_h6zd4wrp2v7xk5qmt3cn"])
    project_id: str
    url: str = Field(
        description="Address that messages are sent to.", examples=["https://hooks.shop.example/truelift"]
    )
    description: str | None
    events: list[Event] = Field(description="Types of events that messages are sent for.")
    enabled: bool = Field(description="Whether messages are sent.")
    disabled_reason: DisabledReason | None = Field(
        description="`gone` after an answer 410, `failing` after a day without success, `queue_full` where "
        "too many messages waited, `on_request` otherwise; null while it is enabled."
    )
    delivered_at: datetime | None = Field(description="When a message was accepted last.")
    previous_secret_until: datetime | None = Field(
        description="Until when messages are signed by the replaced secret, too."
    )
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: webhook_records.Webhook) -> "Webhook":
        """Describe a webhook, without its secrets."""
        return cls(
            **found.facts(),
            enabled=found.disabled_reason is None,
            delivered_at=found.delivered_at,
            previous_secret_until=found.previous_secret_until,
            created_at=found.created_at,
            updated_at=found.updated_at,
        )


class WebhookWithSecret(BaseModel):
    """A webhook with its secret, which is shown this once."""

    webhook: Webhook = Field(description="The webhook, without its secret.")
    secret: str = Field(
        description="Verifies signatures: `whsec_` and 32 bytes in Base64.",
        examples=["whsec_c2VjcmV0LXRoYXQtaXMtbm90LW9uZS1hdC1hbGwtMTIz"],
    )


class DeliveryState(BaseModel):
    """A message, and what came of it."""

    type: str = Field(description="An event, or that of a test.", examples=["experiment.completed"])
    message: dict[str, Any] = Field(
        description="The message, as JSON data.",
        examples=[
            {
                "type": "experiment.completed",
                "timestamp": "2026-03-02T09:30:00Z",
                "data": {"experiment_id": "exp_k3vq7xm2c5tzhn6d4wrp"},
            }
        ],
    )
    attempts: int = Field(description="How often it was sent.", examples=[1])
    created_at: datetime
    next_attempt_at: datetime | None = Field(description="When it is sent next; null once it has ended.")
    ended_at: datetime | None
    response_status: int | None = Field(
        description="HTTP status of the last attempt's answer.", examples=[200]
    )
    error: str | None = Field(
        description="What was wrong with the last attempt.", examples=["The source cannot be reached."]
    )

    @classmethod
    def of(cls, found: webhook_records.Delivery) -> Self:
        """Describe a delivery."""
        named = {name: getattr(found, name) for name in cls.model_fields if hasattr(found, name)}
        return cls(**named, message=json.loads(found.content))


class Delivery(DeliveryState):
    """A message to a webhook, and what came of it."""

    id: str = Field(
        description="The `webhook-id` of the message, the same in each attempt.",
        examples=["msg_z6d4wpra7hn2qk5vxm3t"],
    )
    webhook_id: str = Field(description="Id of the webhook.", examples=["whk_h6zd4wrp2v7xk5qmt3cn"])
    status: DeliveryStatus = Field(
        description="`pending` until a message has been accepted or was given up after a day."
    )
