"""Webhooks, and deliveries of messages to them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

Event = Literal[
    "experiment.scheduled",
    "experiment.started",
    "experiment.paused",
    "experiment.resumed",
    "experiment.completed",
    "experiment.archived",
    "experiment.concluded",
    "experiment.rollout_ended",
    "experiment.decision",
    "experiment.health_alarm",
]
EVENTS: Final[tuple[Event, ...]] = get_args(Event)
TEST: Final = "webhook.test"
DisabledReason = Literal["on_request", "gone", "failing", "queue_full"]
DeliveryStatus = Literal["pending", "delivered", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told of events of a project.

    `secret` signs every message, and `previous_secret` beside it until `previous_secret_until`; both are
    encrypted. `disabled_reason` is None while messages are sent.
    """

    id: str
    project_id: str
    url: str
    description: str | None
    events: tuple[Event, ...]
    secret: bytes
    previous_secret: bytes | None = None
    previous_secret_until: datetime | None = None
    disabled_reason: DisabledReason | None = None
    delivered_at: datetime | None = None
    created_at: datetime
    updated_at: datetime

    def facts(self) -> dict[str, Any]:
        """Return what may be shown of it, as JSON data."""
        return {
            "id": self.id,
            "project_id": self.project_id,
            "url": self.url,
            "description": self.description,
            "events": [*self.events],
            "disabled_reason": self.disabled_reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message to a webhook; `content` is the JSON text that is sent and signed, the same in each attempt.

    `response_status` and `error` are those of the last attempt.
    """

    id: str
    webhook_id: str
    type: str
    content: str
    status: DeliveryStatus = "pending"
    attempts: int = 0
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None = None
    response_status: int | None = None
    error: str | None = None
