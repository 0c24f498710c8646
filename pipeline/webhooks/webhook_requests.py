"""Webhooks to create and to change, from the input of the API."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Final

from cryptography.fernet import Fernet

from engine.errors import InvalidDesignError, Problem
from engine.validation.check import Check
from engine.validation.input_records import read_record
from engine.validation.records import RecordRule, validate
from engine.validation.values import choice, flag, in_turn, list_of, optional, text, web_address, whole
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.webhooks.webhook_records import EVENTS, Webhook
from pipeline.webhooks.endpoint_addresses import Network, url_problems
from pipeline.webhooks.signatures import new_secret

_WHAT: Final = "a webhook"


def _require_some(events: Sequence[str]) -> Iterator[Problem]:
    if not events:
        yield Problem("", f"is empty; give some of {', '.join(EVENTS)}")


_EVENTS: Final[Check] = in_turn(list_of(choice(EVENTS), at_most=len(EVENTS)), _require_some)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A webhook to create."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    url: Annotated[
        str,
        web_address.described(
            "An https address, which messages are sent to by POST.",
            example="https://hooks.shop.example/truelift",
        ),
    ]
    description: Annotated[str | None, optional(text(255))] = None
    events: Annotated[tuple[str, ...], _EVENTS.described("All of them by default.")] = EVENTS
    enabled: Annotated[bool, flag.described("False while no messages are to be sent.")] = True

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRotation:
    """A replacement of a webhook's secret."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    grace_period_hours: Annotated[
        int,
        whole(0, 720).described(
            "Hours for which messages are signed by the former secret, too; a day by default."
        ),
    ] = 24

    def __post_init__(self) -> None:
        validate(self)


def draft_webhook(
    project_id: str,
    fields: Mapping[str, Any],
    networks: Sequence[Network],
    cipher: Fernet,
    *,
    now: datetime,
) -> tuple[Webhook, str]:
    """Build a webhook from JSON-like input; InvalidDesignError with every problem.

    Returns it with its secret, which is stored encrypted only.
    """
    asked = read_record(fields, WebhookRequest, _WHAT)
    _require_reachable(asked.url, networks)
    secret = new_secret()
    webhook = Webhook(
        id=new_id("whk"),
        project_id=project_id,
        url=asked.url,
        description=asked.description,
        events=_known(asked.events),
        secret=cipher.encrypt(secret.encode()),
        disabled_reason=None if asked.enabled else "on_request",
        created_at=now,
        updated_at=now,
    )
    return webhook, secret


def revise_webhook(webhook: Webhook, *, fields: Mapping[str, Any], networks: Sequence[Network]) -> Webhook:
    """Change the fields that are given; InvalidDesignError with every problem."""
    current = {
        "url": webhook.url,
        "description": webhook.description,
        "events": webhook.events,
        "enabled": webhook.disabled_reason is None,
    }
    asked = read_record({**current, **fields}, WebhookRequest, _WHAT)
    if asked.url != webhook.url:
        _require_reachable(asked.url, networks)
    reason = None if asked.enabled else webhook.disabled_reason or "on_request"
    return replace(
        webhook,
        url=asked.url,
        description=asked.description,
        events=_known(asked.events),
        disabled_reason=reason,
    )


def rotation_of(
    fields: Mapping[str, Any], cipher: Fernet, *, now: datetime
) -> tuple[Callable[[Webhook], Webhook], str]:
    """Return a function that replaces the secret of a webhook, and the new secret; InvalidDesignError."""
    asked = read_record(fields, SecretRotation, "a rotation")
    secret = new_secret()

    def rotate(webhook: Webhook) -> Webhook:
        return replace(
            webhook,
            secret=cipher.encrypt(secret.encode()),
            previous_secret=webhook.secret if asked.grace_period_hours else None,
            previous_secret_until=now + timedelta(hours=asked.grace_period_hours)
            if asked.grace_period_hours
            else None,
        )

    return rotate, secret


def _known(events: Sequence[str]) -> tuple[Any, ...]:
    return tuple(event for event in EVENTS if event in events)


def _require_reachable(url: str, networks: Sequence[Network]) -> None:
    problems = [Problem("url", problem) for problem in url_problems(url, networks)]
    if problems:
        raise InvalidDesignError(problems)
