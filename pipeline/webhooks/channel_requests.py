"""Notification channels to create and to change, from the input of the API."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, cast

from cryptography.fernet import Fernet, InvalidToken

from engine.errors import InvalidDesignError, Problem
from engine.validation.check import Check
from engine.validation.input_records import read_record
from engine.validation.records import Record, RecordRule, validate
from engine.validation.values import choice, flag, in_turn, list_of, optional, text, web_address, whole
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.members import Member, is_address
from pipeline.store.catalog.webhooks.webhook_records import (
    CHANNEL_EVENTS,
    CHANNEL_KINDS,
    ChannelEvent,
    ChannelKind,
    Webhook,
)
from pipeline.webhooks.endpoint_addresses import url_problems
from pipeline.webhooks.recipients import masked, recipients_from, recipients_of, recipients_text

_WHAT: Final = "a notification channel"
_MOST_ADDRESSES: Final = 20
# What begins a list, a comment or a second header in a mail.
_REFUSED: Final = frozenset('<>()[]\\,;:"')


def _require_plain(address: str) -> Iterator[Problem]:
    if not is_address(address) or not address.isascii() or not _REFUSED.isdisjoint(address):
        yield Problem("", "is not an e-mail address such as ada@shop.example, in ASCII and without a name")


_ADDRESSES: Final[Check] = list_of(in_turn(text(254), _require_plain), at_most=_MOST_ADDRESSES)


def _one_destination(channel: Record) -> Iterator[Problem]:
    """Require the destination of the kind, and no other."""
    if (kind := channel.get("kind")) is None:
        return
    wanted, other = ("addresses", "url") if kind == "email" else ("url", "addresses")
    if wanted in channel and not channel[wanted]:
        yield Problem(wanted, f"is needed by a channel of the kind {kind}")
    if channel.get(other):
        yield Problem(other, f"is of no channel of the kind {kind}; leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRequest:
    """A notification channel to create."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_one_destination,)

    kind: Annotated[str, choice(CHANNEL_KINDS).described("It cannot be changed.", example="slack")]
    url: Annotated[
        str | None,
        optional(web_address).described(
            "Of `slack` the address of an incoming webhook, of `teams` that of a workflow. It is encrypted, "
            "and returned masked.",
            example="https://hooks.slack.com/services/T0001/B0001/secret",
        ),
    ] = None
    addresses: Annotated[
        tuple[str, ...],
        _ADDRESSES.described(
            "Of `email`: those that messages are sent to; encrypted, and returned masked.",
            example=["growth@shop.example"],
        ),
    ] = ()
    description: Annotated[
        str | None, optional(text(255)).described("What it is for.", example="Growth team")
    ] = None
    events: Annotated[
        tuple[str, ...],
        list_of(choice(CHANNEL_EVENTS), at_most=len(CHANNEL_EVENTS)).described("All of them by default."),
    ] = CHANNEL_EVENTS
    digest_hour: Annotated[
        int | None,
        optional(whole(0, 23)).described(
            "Hour in the project's time zone at which a digest is sent each morning; null for none.",
            example=8,
        ),
    ] = None
    enabled: Annotated[bool, flag.described("False while no messages are to be sent.")] = True

    def __post_init__(self) -> None:
        validate(self)

    @property
    def target(self) -> Any:  # noqa: ANN401 - an address of the web, or several e-mail addresses
        """The destination of the kind."""
        return self.addresses if self.kind == "email" else self.url


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """What a channel is checked and encrypted by; the members are those of its account."""

    settings: Settings
    cipher: Fernet
    members: Sequence[Member]


def draft_channel(
    rules: ChannelRules, project_id: str, fields: Mapping[str, Any], *, now: datetime
) -> Webhook:
    """Build a channel from JSON-like input; InvalidDesignError with every problem."""
    asked = read_record(fields, ChannelRequest, _WHAT)
    _require_reachable(rules, asked)
    return Webhook(
        id=new_id("chn"),
        project_id=project_id,
        kind=cast("ChannelKind", asked.kind),
        url=masked(asked.kind, asked.target),
        description=asked.description,
        events=_known(asked.events),
        secret=_sealed(rules, asked),
        disabled_reason=None if asked.enabled else "on_request",
        digest_hour=asked.digest_hour,
        created_at=now,
        updated_at=now,
    )


def revise_channel(channel: Webhook, *, rules: ChannelRules, fields: Mapping[str, Any]) -> Webhook:
    """Change the fields that are given; InvalidDesignError with every problem."""
    if fields.get("kind", channel.kind) != channel.kind:
        raise InvalidDesignError([Problem("kind", f"stays {channel.kind}; create another channel")])
    current = {
        "kind": channel.kind,
        **_opened_target(rules, channel),
        "description": channel.description,
        "events": channel.events,
        "digest_hour": channel.digest_hour,
        "enabled": channel.disabled_reason is None,
    }
    asked = read_record({**current, **fields}, ChannelRequest, _WHAT)
    changed = replace(
        channel,
        description=asked.description,
        events=_known(asked.events),
        digest_hour=asked.digest_hour,
        disabled_reason=None if asked.enabled else channel.disabled_reason or "on_request",
    )
    if fields.keys().isdisjoint({"url", "addresses"}):
        return changed
    _require_reachable(rules, asked)
    return replace(changed, url=masked(asked.kind, asked.target), secret=_sealed(rules, asked))


def _opened_target(rules: ChannelRules, channel: Webhook) -> dict[str, Any]:
    """Return the destination as it was given; nothing where another key has encrypted it."""
    try:
        secret = rules.cipher.decrypt(channel.secret).decode()
    except InvalidToken:
        return {}
    if channel.kind == "email":
        return {"addresses": [one.address for one in recipients_from(secret)]}
    return {"url": secret}


def _sealed(rules: ChannelRules, asked: ChannelRequest) -> bytes:
    target = asked.url or recipients_text(recipients_of(asked.addresses, rules.members))
    return rules.cipher.encrypt(target.encode())


def _require_reachable(rules: ChannelRules, asked: ChannelRequest) -> None:
    problems = [] if asked.url is None else [*url_problems(asked.url, rules.settings.reachable_networks)]
    found = [Problem("url", one) for one in problems]
    if asked.kind == "email" and rules.settings.smtp_host is None:
        why = "the service sends no e-mail, until its operator sets TRUELIFT_SMTP_HOST"
        found.append(Problem("kind", why))
    if found:
        raise InvalidDesignError(found)


def _known(events: Sequence[str]) -> tuple[ChannelEvent, ...]:
    return tuple(event for event in CHANNEL_EVENTS if event in events)
