"""How a project is drafted from what a caller sends, and revised."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

import msgspec

from engine.design.project import Project
from engine.design.reading import fields_of, merged, unknown_fields
from engine.design.records import problems_in
from engine.errors import InvalidDesignError, Problem

WRITABLE = (
    "name",
    "url",
    "platform",
    "installation_guide",
    "reporting_timezone",
    "integrations",
    "environments",
    "settings",
)
ASSIGNED = (
    "id",
    "account_id",
    "snippet_verified",
    "running_experiments_count",
    "api_key",
    "created_at",
    "updated_at",
)
_MERGED = ("integrations", "settings")


def draft_project(
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    account_id: str,
    sdk_key: str,
    now: datetime,
) -> Project:
    """Build a project from JSON-like input; InvalidDesignError with every problem of it."""
    record = {"id": id, "account_id": account_id, "sdk_key": sdk_key, "created_at": now}
    return _revised(record, fields, now)


def revise_project(project: Project, fields: Mapping[str, Any], *, now: datetime) -> Project:
    """Change the fields that are given, and only those; null takes one setting or integration away."""
    return _revised(msgspec.to_builtins(project, builtin_types=(datetime,)), fields, now)


def _revised(current: dict[str, Any], fields: Mapping[str, Any], now: datetime) -> Project:
    given = fields_of(fields, "a project")
    record = {**current, **{name: given[name] for name in WRITABLE if name in given}, "updated_at": now}
    for name in _MERGED:
        if name in given:
            record[name] = merged(current.get(name, {}), given[name])
    problems: list[Problem] = unknown_fields(given, WRITABLE, ASSIGNED, "a project")
    problems += problems_in(record, Project)
    if problems:
        raise InvalidDesignError(problems)
    # A copy: whoever sent the record may still change what it holds.
    return msgspec.convert(deepcopy(record), Project)
