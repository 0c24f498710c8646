"""Creation of API keys, within the scopes and the account of the creating key."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.errors import Problem
from engine.validation.check import Check
from engine.validation.records import keys_of
from engine.validation.values import (
    at,
    choice,
    in_turn,
    list_of,
    shown,
    text,
)
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError
from pipeline.store.catalog.keys import ENVIRONMENTS, SCOPES, ApiKey
from pipeline.store.catalog.members import is_above

MOST_PROJECTS: Final = 1000


def _require_some(scopes: list[str]) -> Iterator[Problem]:
    if not scopes:
        yield Problem("", f"is empty; give some of {', '.join(SCOPES)}")


_KEY: Final[Check] = keys_of(
    {
        "name": text(255),
        "environment": choice(ENVIRONMENTS),
        "scopes": in_turn(list_of(choice(SCOPES), at_most=len(SCOPES)), _require_some),
        "project_ids": list_of(text(64), at_most=MOST_PROJECTS),
        "member_id": text(64),
    },
    required=("name", "scopes"),
    what="an API key",
)


def create_key(catalog: Catalog, creator: ApiKey, fields: Mapping[str, Any]) -> tuple[ApiKey, str]:
    """Create a key from JSON-like input; InvalidRecordError with every problem.

    Its holder is the member that is named, or the creator's. Returns the key and its token, which is not
    stored.
    """
    own = catalog.projects.ids(creator.account_id)
    problems = [
        *_KEY(fields),
        *at("scopes", _missing_scopes(creator, fields.get("scopes"))),
        *at("project_ids", _unknown_projects(own, fields.get("project_ids"))),
        *at("member_id", _holder_problems(catalog, creator, fields.get("member_id"))),
    ]
    if problems:
        raise InvalidRecordError(problems)
    return catalog.keys.create(
        creator.account_id,
        fields.get("member_id") or creator.member_id,
        fields["name"],
        fields["scopes"],
        fields.get("project_ids") or (),
        fields.get("environment") or ENVIRONMENTS[0],
        actor=creator.id,
    )


def _missing_scopes(creator: ApiKey, scopes: object) -> Iterator[Problem]:
    for index, scope in _texts(scopes):
        if scope in SCOPES and scope not in creator.scopes:
            yield Problem(f"[{index}]", f"this key lacks {scope} itself, so it cannot grant it")


def _unknown_projects(own: set[str], project_ids: object) -> Iterator[Problem]:
    for index, project_id in _texts(project_ids):
        if project_id not in own:
            yield Problem(f"[{index}]", f"there is no project {shown(project_id)} in this account")


def _holder_problems(catalog: Catalog, creator: ApiKey, member_id: object) -> Iterator[Problem]:
    if not isinstance(member_id, str) or member_id == creator.member_id:
        return
    accepted = {member.id: member for member in catalog.members.accepted(creator.account_id)}
    if member_id not in accepted:
        yield Problem("", f"{shown(member_id)} is no accepted member of the account")
        return
    role = accepted[member_id].role
    # A key of an owner may do what an admin may not.
    if is_above(role, catalog.members.get(creator.account_id, creator.member_id).role):
        yield Problem("", f"this member is an {role}, a role above yours; ask an {role} for the key")


def _texts(values: object) -> Iterator[tuple[int, str]]:
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, str):
            yield index, value
