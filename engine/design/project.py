"""What a project is: a site or app whose visitors are experimented on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from engine.design import project_fields
from engine.design.checks import flag, moment, optional, text, web_address
from engine.design.records import RecordRule, enforce

Platform = Annotated[str, project_fields.platform]
Settings = Annotated[Mapping[str, Any], project_fields.settings]
Integrations = Annotated[Mapping[str, Any], project_fields.integrations]
Environments = Annotated[tuple[Mapping[str, Any], ...], project_fields.environments]


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
    reporting_timezone: Annotated[str | None, optional(project_fields.timezone)] = None
    integrations: Integrations = field(default_factory=dict)
    environments: Environments = ()
    settings: Settings = field(default_factory=dict)
    snippet_verified: Annotated[bool, flag] = False

    def __post_init__(self) -> None:
        enforce(self)

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
