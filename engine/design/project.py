"""What a project is: a site or app whose visitors are experimented on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project, whole. Times are aware, in UTC; `reporting_timezone` None means days are UTC days."""

    id: str
    account_id: str
    name: str
    url: str
    sdk_key: str
    created_at: datetime
    updated_at: datetime
    platform: str = "custom_js"
    installation_guide: str = "custom_js"
    reporting_timezone: str | None = None
    integrations: Mapping[str, Any] = field(default_factory=dict)
    environments: tuple[Mapping[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    snippet_verified: bool = False

    @property
    def timezone(self) -> str:
        """The zone that days are counted in."""
        return self.reporting_timezone or "UTC"

    @property
    def revenue_currency(self) -> str:
        """ISO 4217 code of the money that goals count."""
        return str(self.settings.get("revenue_currency", "USD"))

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
        return bool(self.settings.get("bot_filtering", True))
