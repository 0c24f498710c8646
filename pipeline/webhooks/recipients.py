"""Recipients of e-mails, as a channel's encrypted secret has them, and masked destinations."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from pipeline.store.catalog.members import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """An address, and the id of the member whose it was when it was given."""

    address: str
    member_id: str | None


def recipients_of(addresses: Iterable[str], members: Iterable[Member]) -> list[Recipient]:
    """Return the recipients of addresses, those of members with their ids."""
    ids = {member.email_address: member.id for member in members}
    return [Recipient(address=one, member_id=ids.get(one.lower())) for one in addresses]


def recipients_text(recipients: Sequence[Recipient]) -> str:
    """Return recipients as JSON text, which is to be encrypted."""
    return json.dumps([asdict(one) for one in recipients])


def recipients_from(text: str) -> list[Recipient]:
    """Read recipients from JSON text."""
    return [Recipient(**one) for one in json.loads(text)]


def present_addresses(recipients: Iterable[Recipient], member_ids: Collection[str]) -> list[str]:
    """List the addresses, but for those of members who have left."""
    return [one.address for one in recipients if one.member_id is None or one.member_id in member_ids]


def masked(kind: str, target: Any) -> str:  # noqa: ANN401 - an address of the web, or several e-mail addresses
    """Mask a destination: the host of a URL, or the first letter and the domain of each address."""
    if kind != "email":
        parts = urlsplit(target)
        return f"{parts.scheme}://{parts.netloc}/…"
    pairs = (address.rpartition("@") for address in target)
    return ", ".join(f"{local[0]}…@{domain}" for local, _, domain in pairs)
