"""Creation of API keys, within the scopes and the account of the creating key."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.design.validation.check import Check
from engine.design.validation.records import keys_of
from engine.design.validation.values import (
    at,
    choice,
    in_turn,
    list_of,
    shown,
    text,
)
from engine.errors import Problem
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError
from pipeline.store.catalog.keys import ENVIRONMENTS, SCOPES, ApiKey

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
    },
    required=("name", "scopes"),
    what="an API key",
)


def create_key(catalog: Catalog, creator: ApiKey, fields: Mapping[str, Any]) -> tuple[ApiKey, str]:
    """Create a key of the same member from JSON-like input; InvalidRecordError with every problem.

    Returns the key and its token, which is not stored.
    """
    own = catalog.projects.ids(creator.account_id)
    problems = [
        *_KEY(fields),
        *at("scopes", _missing_scopes(creator, fields.get("scopes"))),
        *at("project_ids", _unknown_projects(own, fields.get("project_ids"))),
    ]
    if problems:
        raise InvalidRecordError(problems)
    return catalog.keys.create(
        creator.account_id,
        creator.member_id,
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


def _texts(values: object) -> Iterator[tuple[int, str]]:
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, str):
            yield index, value
