"""Addition and change of members, by an owner or admin of the account."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.validation.check import Check
from engine.validation.records import keys_of
from engine.validation.values import choice, in_turn, shown, text
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError
from pipeline.store.catalog.keys import ApiKey
from pipeline.store.catalog.members import ROLES, Member, is_address


def _require_address(address: str) -> Iterator[Problem]:
    if not is_address(address):
        yield Problem("", f"{shown(address)} is not an e-mail address")


_CHANGEABLE: Final[Mapping[str, Check]] = {"name": text(255), "role": choice(ROLES)}
_MEMBER: Final[Check] = keys_of(
    {"email_address": in_turn(text(254), _require_address), **_CHANGEABLE},
    required=("email_address", "name"),
    what="a member",
)
_CHANGES: Final[Check] = keys_of(_CHANGEABLE, what="a change of a member")


def add_member(catalog: Catalog, manager: ApiKey, fields: Mapping[str, Any]) -> Member:
    """Add a member from JSON-like input, of the role `member` if it names none.

    InvalidRecordError with every problem; RoleTooLowError.
    """
    _require(_MEMBER, fields)
    return catalog.members.add(
        manager.account_id,
        fields["email_address"],
        fields["name"],
        fields.get("role") or "member",
        actor=manager.id,
        by=manager.member_id,
    )


def change_member(catalog: Catalog, manager: ApiKey, member_id: str, fields: Mapping[str, Any]) -> Member:
    """Change the fields given of a member; one that is null stays.

    NotFoundError; InvalidRecordError with every problem; RoleTooLowError; LastOwnerError.
    """
    catalog.members.get(manager.account_id, member_id)
    _require(_CHANGES, fields)
    return catalog.members.update(
        manager.account_id,
        member_id,
        name=fields.get("name"),
        role=fields.get("role"),
        actor=manager.id,
        by=manager.member_id,
    )


def _require(check: Check, fields: Mapping[str, Any]) -> None:
    problems = list(check(fields))
    if problems:
        raise InvalidRecordError(problems)
