"""Kinds of destinations of messages, and the attempt to send one to each."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from cryptography.fernet import Fernet, InvalidToken

from pipeline.encryption_key import open_cipher
from pipeline.services import PipelineServices
from pipeline.store.catalog.webhooks.webhook_records import Delivery, Kind, Webhook
from pipeline.webhooks.channel_formats import mail_of, slack_payload, teams_payload
from pipeline.webhooks.recipients import present_addresses, recipients_from
from pipeline.webhooks.sending_error import SendingError
from pipeline.webhooks.signatures import headers_of

if TYPE_CHECKING:
    from pipeline.webhooks.sending import Sender

_GONE: Final = 410
_TOO_MANY: Final = {429: "it takes no more messages for now"}
# https://api.slack.com/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks
_SLACK_ERRORS: Final = {
    **_TOO_MANY,
    400: "it does not take the message",
    403: "the workspace does not let this webhook post to the channel",
    404: "the channel or the webhook does not exist; create a new webhook",
    410: "the channel is archived",
}
_TEAMS_ERRORS: Final = {
    **_TOO_MANY,
    400: "the workflow does not take the message; begin it with the trigger for webhook requests",
    401: "the address lacks its signature; copy the whole of it",
    403: "the workflow is not allowed to post there",
    404: "the workflow does not exist or is turned off",
    410: "the workflow was deleted",
}


@dataclass(frozen=True, slots=True)
class Letter:
    """A message on its way: whose, where to, and the time of the attempt."""

    account_id: str
    webhook: Webhook
    delivery: Delivery
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of an attempt; `error` says what was wrong, even where it was delivered to some.

    `is_gone` where no attempt can succeed, and `reached` are the encrypted addresses that are done.
    """

    is_delivered: bool
    status: int | None = None
    error: str | None = None
    is_gone: bool = False
    reached: bytes | None = None


class Destinations:
    """Destinations of every kind."""

    def __init__(self, services: PipelineServices) -> None:
        """Send by the settings of the services."""
        self.settings = services.settings
        self.members = services.catalog.members
        self.cipher: Fernet = open_cipher(services.settings)

    @cached_property
    def sender(self) -> "Sender":
        """Sender of requests; its package is slow to import, and most services have no webhooks."""
        from pipeline.webhooks.sending import Sender  # noqa: PLC0415 - see above

        return Sender(self.settings.reachable_networks)

    def send(self, letter: Letter) -> Outcome:
        """Try to send a message once."""
        try:
            return KINDS[letter.webhook.kind](self, letter)
        except SendingError as error:
            return Outcome(is_delivered=False, error=str(error))
        except InvalidToken:
            is_webhook = letter.webhook.kind == "webhook"
            what = "secret was encrypted by another key; rotate it"
            other = "destination was encrypted by another key; give it again"
            return Outcome(is_delivered=False, error=f"the {what if is_webhook else other}")

    def opened(self, secret: bytes) -> str:
        """Decrypt a secret; InvalidToken."""
        return self.cipher.decrypt(secret).decode()

    def link(self, data: Mapping[str, Any]) -> str:
        """Return the address of the page that a message leads to."""
        return f"{self.settings.base_url.rstrip('/')}{data['path']}"


def _post_signed(to: Destinations, letter: Letter) -> Outcome:
    webhook, content = letter.webhook, letter.delivery.content.encode()
    until = webhook.previous_secret_until
    former = webhook.previous_secret if until is not None and letter.now < until else None
    secrets = [to.opened(one) for one in (webhook.secret, former) if one is not None]
    signed = headers_of(letter.delivery.id, content, secrets, now=letter.now)
    return _posted(to.sender.post(webhook.url, {**_HEADERS, **signed}, content), {})


def _post_form(
    form: Callable[[str, Mapping[str, Any], str], dict[str, Any]],
    errors: Mapping[int, str],
    to: Destinations,
    letter: Letter,
) -> Outcome:
    data = json.loads(letter.delivery.content)["data"]
    content = json.dumps(form(letter.delivery.id, data, to.link(data))).encode()
    return _posted(to.sender.post(to.opened(letter.webhook.secret), _HEADERS, content), errors)


def _posted(status: int, errors: Mapping[int, str]) -> Outcome:
    if 200 <= status < 300:
        return Outcome(is_delivered=True, status=status)
    cause = f": {errors[status]}" if status in errors else ""
    error = f"the endpoint answered {status}{cause}"
    return Outcome(is_delivered=False, status=status, error=error, is_gone=status == _GONE)


def _mail(to: Destinations, letter: Letter) -> Outcome:
    # Slow to import, and most services send no e-mail.
    from pipeline.webhooks.mail_sending import are_permanent, send_mail  # noqa: PLC0415 - see above

    members = {member.id for member in to.members.accepted(letter.account_id)}
    addresses = present_addresses(recipients_from(to.opened(letter.webhook.secret)), members)
    if not addresses:
        error = "every address of the channel is of a member who has left"
        return Outcome(is_delivered=False, error=error, is_gone=True)
    reached = json.loads(to.opened(letter.delivery.reached)) if letter.delivery.reached else []
    refused: Mapping[str, int] = {}
    if waiting := [one for one in addresses if one not in reached]:
        data, sender = json.loads(letter.delivery.content)["data"], to.settings.smtp_from or ""
        message_id, at = letter.delivery.id, letter.delivery.created_at
        mail = mail_of(message_id, data, to.link(data), sender=sender, at=at)
        refused = send_mail(to.settings, mail, waiting)
    if not refused:
        return Outcome(is_delivered=True)
    accepted = [one for one in waiting if one not in refused]
    codes = ", ".join(map(str, sorted(set(refused.values()))))
    return Outcome(
        is_delivered=bool(reached or accepted) and are_permanent(refused.values()),
        error=f"the mail server refused {len(refused)} of {len(addresses)} addresses ({codes})",
        reached=to.cipher.encrypt(json.dumps([*reached, *accepted]).encode()) if accepted else None,
    )


_HEADERS: Final = {"Content-Type": "application/json", "User-Agent": "Truelift"}
KINDS: Final[Mapping[Kind, Callable[[Destinations, Letter], Outcome]]] = {
    "webhook": _post_signed,
    "slack": partial(_post_form, slack_payload, _SLACK_ERRORS),
    "teams": partial(_post_form, teams_payload, _TEAMS_ERRORS),
    "email": _mail,
}
