"""What the settings, integrations and environments of a project may hold."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from engine.design.validation.records import keys_of
from engine.design.validation.values import (
    Check,
    choice,
    currency,
    flag,
    in_turn,
    list_of,
    repeated,
    shown,
    text,
    whole,
)
from engine.design.vocabulary import Platform, words
from engine.errors import Problem
from engine.local_days import is_timezone

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOSTNAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII | re.IGNORECASE)
MOST_ENVIRONMENTS = 20


def _hostname(value: str) -> Iterator[Problem]:
    if not _HOSTNAME.fullmatch(value):
        yield Problem("", f"must be a hostname such as shop.example or *.shop.example, not {shown(value)}")


def _cookie_domain(value: str) -> Iterable[Problem]:
    # Cookies were once written for .shop.example, and still may be.
    return _hostname(value.removeprefix("."))


def _ip_range(value: str) -> Iterator[Problem]:
    try:
        ip_network(value, strict=False)
    except ValueError:
        example = "an address such as 192.0.2.7 or a range such as 192.0.2.0/24"
        yield Problem("", f"must be {example}, not {shown(value)}")


def timezone(value: object) -> Iterator[Problem]:
    """A zone of the IANA time zone database."""
    if not isinstance(value, str) or not is_timezone(value):
        yield Problem("", f"must be an IANA time zone such as America/New_York, not {shown(value)}")


hostname: Check = in_turn(text(253), _hostname)

SETTINGS: dict[str, Check] = {
    "domains": list_of(hostname, at_most=100),
    "cookie_domain": in_turn(text(254), _cookie_domain),
    "respect_dnt": flag,
    "respect_gpc": flag,
    "require_consent": flag,
    "bot_filtering": flag,
    "excluded_ips": list_of(in_turn(text(50), _ip_range), at_most=200),
    "anti_flicker_timeout_ms": whole(0, 10_000),
    "revenue_currency": currency,
    "attribution_window_days": whole(1, 365),
    "retention_days": whole(1, 3650),
}
settings: Check = keys_of(SETTINGS, what="the settings")
platform: Check = choice(words(Platform))

_GA4 = keys_of(
    {"enabled": flag, "measurement_id": text(50)}, required=["enabled"], what="the ga4 integration"
)
_GTM = keys_of({"enabled": flag}, required=["enabled"], what="the gtm integration")


def _enabled_with_id(ga4: Mapping[str, Any]) -> Iterator[Problem]:
    if ga4["enabled"] and ga4.get("measurement_id") is None:
        yield Problem("measurement_id", "is required while ga4 is enabled; it looks like G-XXXXXXXXXX")


integrations: Check = keys_of({"ga4": in_turn(_GA4, _enabled_with_id), "gtm": _GTM}, what="the integrations")

_ENVIRONMENT = keys_of(
    {"key": text(50), "name": text(255), "hostnames": list_of(hostname, at_most=100)},
    required=["key", "name"],
    what="an environment",
)


def _each_key_once(environments: Sequence[Mapping[str, Any]]) -> Iterable[Problem]:
    return repeated([environment["key"] for environment in environments], "key")


environments: Check = in_turn(
    list_of(_ENVIRONMENT, at_most=MOST_ENVIRONMENTS, distinct=False), _each_key_once
)
