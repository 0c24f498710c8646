"""Project: a website or app on which experiments run, and the rotation of its public key."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from engine.currencies import USUAL_CURRENCY
from engine.design import project_settings
from engine.errors import InvalidDesignError, Problem
from engine.typed_records import record_of
from engine.validation.input_records import read_record
from engine.validation.parsing import fields_of, merged, unknown_fields
from engine.validation.record_fields import ASSIGNED, INTERNAL, assigned, writable
from engine.validation.records import RecordRule, problems_in, records_of, validate
from engine.validation.values import flag, moment, optional, text, web_address, whole
from engine.vocabulary import ConsentSource

_MERGED = ("integrations", "settings")
MOST_PREVIOUS_KEYS = 50
DEFAULT_KEEP_NIGHTS = 30
DEFAULT_ANTI_FLICKER_TIMEOUT_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousSdkKey:
    """A public key that was replaced; it works until `valid_until`."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    sdk_key: Annotated[str, text(100)]
    valid_until: Annotated[datetime, moment]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkKeyRotation:
    """A replacement of the public key."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    grace_period_hours: Annotated[
        int,
        whole(0, 720).described(
            "Hours for which earlier keys still work, a week by default; 0 ends all of them at once."
        ),
    ] = 168


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project with its settings.

    Times are aware, in UTC; `reporting_timezone` None means that days are UTC days.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64), ASSIGNED]
    account_id: Annotated[str, text(64), ASSIGNED]
    name: Annotated[str, text(255)]
    url: Annotated[
        str, web_address.described("Absolute http or https URL of the site.", example="https://shop.example")
    ]
    sdk_key: Annotated[str, text(100), INTERNAL]
    created_at: Annotated[datetime, moment, ASSIGNED]
    updated_at: Annotated[datetime, moment, ASSIGNED]
    previous_sdk_keys: Annotated[
        tuple[PreviousSdkKey, ...],
        records_of(PreviousSdkKey, at_most=MOST_PREVIOUS_KEYS, name="previous SDK key"),
        INTERNAL,
    ] = ()
    platform: Annotated[str, project_settings.platform] = "custom_js"
    installation_guide: Annotated[str, project_settings.platform] = "custom_js"
    reporting_timezone: Annotated[
        str | None,
        optional(project_settings.timezone).described(
            "IANA time zone of the reported days, such as `America/New_York`; UTC while null.",
            example="Europe/Vienna",
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
        return self.settings.get("revenue_currency") or USUAL_CURRENCY

    @property
    def exchange_rates(self) -> Mapping[str, float]:
        """Units of the revenue currency that one unit of another currency is worth."""
        return self.settings.get("exchange_rates") or {}

    @property
    def attribution_window_days(self) -> int | None:
        """Days after the first exposure in which a conversion counts; None for as long as the test runs."""
        return self.settings.get("attribution_window_days")

    @property
    def retention_days(self) -> int | None:
        """Days for which raw events are kept, those of visitors in open experiments longer; None for ever."""
        return self.settings.get("retention_days")

    @property
    def keep_nights(self) -> int:
        """Number of nights whose results are kept."""
        nights = self.settings.get("keep_nights")
        return DEFAULT_KEEP_NIGHTS if nights is None else nights

    @property
    def consent_source(self) -> ConsentSource | None:
        """Consent platform that answers for visitors; None where the page does."""
        return self.settings.get("consent_source")

    @property
    def requires_consent(self) -> bool:
        """Whether nothing is stored of visitors until they agree."""
        return self.settings.get("require_consent") is True or self.consent_source is not None

    @property
    def bot_filtering(self) -> bool:
        """Whether results exclude visitors flagged as bots."""
        return self.settings.get("bot_filtering") is not False

    @property
    def anti_flicker_timeout_ms(self) -> int:
        """Milliseconds for which a page waits for the snippet before it is shown."""
        timeout = self.settings.get("anti_flicker_timeout_ms")
        return DEFAULT_ANTI_FLICKER_TIMEOUT_MS if timeout is None else timeout

    @property
    def trusted_revenue(self) -> bool:
        """Whether money and refunds count only where a server or an import reports them."""
        return self.settings.get("trusted_revenue") is True

    @property
    def allowed_hosts_only(self) -> bool:
        """Whether browsers may send only from pages on the project's hosts."""
        return self.settings.get("allowed_hosts_only") is True

    @property
    def allows_share_links(self) -> bool:
        """Whether results may be shared by links that need no key."""
        return self.settings.get("share_links") is not False

    @property
    def requires_review(self) -> bool:
        """Whether a start, and shipping a variant, need a second member's yes."""
        return self.settings.get("review") == "required"

    @property
    def hostnames(self) -> frozenset[str]:
        """Hosts of the project's pages, in lower case; `*.` stands for all subdomains."""
        listed = [host for environment in self.environments for host in environment.get("hostnames") or ()]
        own = urlsplit(self.url).hostname or ""
        return frozenset(host.lower() for host in (own, *(self.settings.get("domains") or ()), *listed))

    def valid_previous_keys(self, now: datetime) -> tuple[PreviousSdkKey, ...]:
        """Return the replaced public keys that still work, the last replaced first."""
        return tuple(key for key in self.previous_sdk_keys if now < key.valid_until)

    def accepts(self, sdk_key: str, *, now: datetime) -> bool:
        """Return whether a public key is the project's current one, or an earlier one in its grace period."""
        return sdk_key in {self.sdk_key, *(key.sdk_key for key in self.valid_previous_keys(now))}


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


def rotate_sdk_key(project: Project, fields: Mapping[str, Any], *, new_key: str, now: datetime) -> Project:
    """Replace the public key; earlier keys work until the grace period of `fields` ends, and no longer.

    Raises InvalidDesignError for a wrong grace period, or where too many earlier keys still work.
    """
    until = now + timedelta(hours=read_record(fields, SdkKeyRotation, "a rotation").grace_period_hours)
    current = PreviousSdkKey(sdk_key=project.sdk_key, valid_until=until)
    earlier = (
        replace(key, valid_until=min(key.valid_until, until)) for key in project.valid_previous_keys(now)
    )
    previous = (current, *earlier) if until > now else ()
    if len(previous) > MOST_PREVIOUS_KEYS:
        message = f"{MOST_PREVIOUS_KEYS} earlier keys still work; end their grace periods first"
        raise InvalidDesignError([Problem("body", message)])
    return replace(project, sdk_key=new_key, previous_sdk_keys=previous, updated_at=now)


def expire_sdk_keys(project: Project, *, now: datetime) -> Project:
    """End the grace period of every earlier public key; the current key stays."""
    if not project.previous_sdk_keys:
        return project
    return replace(project, previous_sdk_keys=(), updated_at=now)


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
    return record_of(deepcopy(record), Project)
