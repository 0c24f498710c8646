"""What a project is: a site or app whose visitors are experimented on."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from engine.design import project_settings
from engine.design.validation.parsing import fields_of, merged, unknown_fields
from engine.design.validation.records import RecordRule, problems_in, validate
from engine.design.validation.values import flag, moment, optional, text, web_address
from engine.errors import InvalidDesignError, Problem

Platform = Annotated[str, project_settings.platform]
Settings = Annotated[Mapping[str, Any], project_settings.settings]
Integrations = Annotated[Mapping[str, Any], project_settings.integrations]
Environments = Annotated[tuple[Mapping[str, Any], ...], project_settings.environments]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project, whole. Times are aware, in UTC; `reporting_timezone` None means days are UTC days."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64)]
    account_id: Annotated[str, text(64)]
    name: Annotated[str, text(255)]
    url: Annotated[str, web_address]
    sdk_key: Annotated[str, text(100)]
    created_at: Annotated[datetime, moment]
    updated_at: Annotated[datetime, moment]
    platform: Platform = "custom_js"
    installation_guide: Platform = "custom_js"
    reporting_timezone: Annotated[str | None, optional(project_settings.timezone)] = None
    integrations: Integrations = field(default_factory=dict)
    environments: Environments = ()
    settings: Settings = field(default_factory=dict)
    snippet_verified: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        validate(self)

    @property
    def timezone(self) -> str:
        """The zone that days are counted in."""
        return self.reporting_timezone or "UTC"

    @property
    def revenue_currency(self) -> str:
        """ISO 4217 code of the money that goals count."""
        return self.settings.get("revenue_currency") or "USD"

    @property
    def attribution_window_days(self) -> int | None:
        """How long after the first exposure a conversion still counts; None for as long as it runs."""
        return self.settings.get("attribution_window_days")

    @property
    def retention_days(self) -> int | None:
        """How long raw events are kept; None for ever."""
        return self.settings.get("retention_days")

    @property
    def bot_filtering(self) -> bool:
        """Whether visitors flagged as bots are left out of results."""
        return self.settings.get("bot_filtering") is not False

    @property
    def hostnames(self) -> frozenset[str]:
        """Every host its pages are on, in small letters; `*.` stands for all below it."""
        listed = [host for environment in self.environments for host in environment.get("hostnames") or ()]
        own = urlsplit(self.url).hostname or ""
        return frozenset(host.lower() for host in (own, *(self.settings.get("domains") or ()), *listed))


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
