"""Webhooks and notification channels, and deliveries of messages to them."""

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
    "experiment.ramp_step",
    "experiment.ramp_harm",
    "experiment.review_asked",
    "experiment.review_answered",
    "experiment.decision",
    "experiment.health_alarm",
]
EVENTS: Final[tuple[Event, ...]] = get_args(Event)
ChannelEvent = Literal[
    "decision_ready",
    "verdict_changed",
    "data_broken",
    "guardrail_broken",
    "guardrail_near_margin",
    "night_failed",
    "plan_reached_soon",
    "ramp_harm",
    "review_asked",
]
CHANNEL_EVENTS: Final[tuple[ChannelEvent, ...]] = get_args(ChannelEvent)
TEST: Final = "webhook.test"
CHANNEL_TEST: Final = "test"
DIGEST: Final = "digest"
SUMMARY: Final = "summary"
ChannelKind = Literal["slack", "teams", "email"]
CHANNEL_KINDS: Final[tuple[ChannelKind, ...]] = get_args(ChannelKind)
Kind = Literal["webhook", ChannelKind]
WEBHOOK_KINDS: Final[tuple[Kind, ...]] = ("webhook",)
DisabledReason = Literal["on_request", "gone", "failing", "queue_full"]
DeliveryStatus = Literal["pending", "delivered", "failed"]
# `summarized` is told of in a summary, which it awaits until its end.
ChannelDeliveryStatus = Literal[DeliveryStatus, "summarized"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told of events of a project: a webhook, or a notification channel.

    `secret` signs every message of a webhook, and `previous_secret` beside it until `previous_secret_until`.
    That of a channel is where its messages go, and its `url` the same masked. Secrets are encrypted.
    `disabled_reason` is None while messages are sent, and `digest_hour` where no digest is.
    """

    id: str
    project_id: str
    kind: Kind = "webhook"
    url: str
    description: str | None
    events: tuple[Event | ChannelEvent, ...]
    secret: bytes
    previous_secret: bytes | None = None
    previous_secret_until: datetime | None = None
    disabled_reason: DisabledReason | None = None
    digest_hour: int | None = None
    delivered_at: datetime | None = None
    created_at: datetime
    updated_at: datetime

    def facts(self) -> dict[str, Any]:
        """Return what may be shown of it, as JSON data."""
        shared = {
            "description": self.description,
            "events": [*self.events],
            "disabled_reason": self.disabled_reason,
        }
        known = {"id": self.id, "project_id": self.project_id}
        if self.kind == "webhook":
            return {**known, "url": self.url, **shared}
        channel = {"kind": self.kind, "destination": self.url, "digest_hour": self.digest_hour}
        return {**known, **channel, **shared}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message to a webhook or channel; `content` is its JSON text, the same in each attempt.

    That text is what a webhook is sent and signed; other kinds are sent their own form of it.
    `response_status` and `error` are those of the last attempt, and `reached` are encrypted addresses.
    """

    id: str
    webhook_id: str
    type: str
    content: str
    status: ChannelDeliveryStatus = "pending"
    attempts: int = 0
    created_at: datetime
    next_attempt_at: datetime | None
    ended_at: datetime | None = None
    response_status: int | None = None
    error: str | None = None
    reached: bytes | None = None
