"""Project: a website or app on which experiments run."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from engine.design import project_settings
from engine.design.validation.parsing import fields_of, merged, unknown_fields
from engine.design.validation.record_fields import ASSIGNED, INTERNAL, assigned, writable
from engine.design.validation.records import RecordRule, problems_in, validate
from engine.design.validation.values import flag, moment, optional, text, web_address
from engine.errors import InvalidDesignError, Problem

_MERGED = ("integrations", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project with its settings.

    Times are aware, in UTC; `reporting_timezone` None means that days are UTC days.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64), ASSIGNED]
    account_id: Annotated[str, text(64), ASSIGNED]
    name: Annotated[str, text(255)]
    url: Annotated[str, web_address.described("Absolute http or https URL of the site.")]
    sdk_key: Annotated[str, text(100), INTERNAL]
    created_at: Annotated[datetime, moment, ASSIGNED]
    updated_at: Annotated[datetime, moment, ASSIGNED]
    platform: Annotated[str, project_settings.platform] = "custom_js"
    installation_guide: Annotated[str, project_settings.platform] = "custom_js"
    reporting_timezone: Annotated[
        str | None,
        optional(project_settings.timezone).described(
            "IANA time zone of the reported days, such as `America/New_York`; UTC while null."
        ),
    ] = None
    integrations: Annotated[Mapping[str, Any], project_settings.integrations] = field(
        default_factory=lambda: project_settings.with_disabled({})
    )
    environments: Annotated[tuple[Mapping[str, Any], ...], project_settings.environments] = ()
    settings: Annotated[Mapping[str, Any], project_settings.settings] = field(default_factory=dict)
    snippet_verified: Annotated[bool, flag, ASSIGNED] = False

    def __post_init__(self) -> None:
        validate(self)
        # Projects stored before every integration had a state lack some.
        object.__setattr__(self, "integrations", project_settings.with_disabled(self.integrations))

    @property
    def timezone(self) -> str:
        """Time zone of the reported days."""
        return self.reporting_timezone or "UTC"

    @property
    def revenue_currency(self) -> str:
        """ISO 4217 code of the currency of revenue goals."""
        return self.settings.get("revenue_currency") or "USD"

    @property
    def attribution_window_days(self) -> int | None:
        """Days after the first exposure in which a conversion counts; None for as long as the test runs."""
        return self.settings.get("attribution_window_days")

    @property
    def retention_days(self) -> int | None:
        """Days for which raw events are kept; None for ever."""
        return self.settings.get("retention_days")

    @property
    def bot_filtering(self) -> bool:
        """Whether results exclude visitors flagged as bots."""
        return self.settings.get("bot_filtering") is not False

    @property
    def hostnames(self) -> frozenset[str]:
        """Hosts of the project's pages, in lower case; `*.` stands for all subdomains."""
        listed = [host for environment in self.environments for host in environment.get("hostnames") or ()]
        own = urlsplit(self.url).hostname or ""
        return frozenset(host.lower() for host in (own, *(self.settings.get("domains") or ()), *listed))


WRITABLE_FIELDS = writable(Project)
# Answers carry these besides the fields of the record.
ASSIGNED_FIELDS = (*assigned(Project), "running_experiments_count", "api_key")


def draft_project(
    fields: Mapping[str, Any],
    *,
    id: str,  # noqa: A002  # the field it becomes
    account_id: str,
    sdk_key: str,
    now: datetime,
) -> Project:
    """Build a project from JSON-like input; raises InvalidDesignError with every problem."""
    record = {"id": id, "account_id": account_id, "sdk_key": sdk_key, "created_at": now}
    return _revised(record, fields, now)


def revise_project(project: Project, fields: Mapping[str, Any], *, now: datetime) -> Project:
    """Change the fields that are given, and only those; null resets a setting or disables an integration.

    Raises InvalidDesignError with every problem.
    """
    return _revised(msgspec.to_builtins(project, builtin_types=(datetime,)), fields, now)


def _revised(current: dict[str, Any], fields: Mapping[str, Any], now: datetime) -> Project:
    given = fields_of(fields, "a project")
    record = {
        **current,
        **{name: given[name] for name in WRITABLE_FIELDS if name in given},
        "updated_at": now,
    }
    for name in _MERGED:
        if name in given:
            record[name] = merged(current.get(name, {}), given[name])
    problems: list[Problem] = unknown_fields(given, WRITABLE_FIELDS, ASSIGNED_FIELDS, "a project")
    problems += problems_in(record, Project)
    if problems:
        raise InvalidDesignError(problems)
    # A copy, because the caller may still change the input.
    return msgspec.convert(deepcopy(record), Project)
