"""Checks of the settings, integrations and environments of a project."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from engine.design.exchange_rates import exchange_rates
from engine.errors import Problem
from engine.time_zones import is_timezone
from engine.validation.check import Check, check_with
from engine.validation.records import keys_of
from engine.validation.values import (
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
from engine.vocabulary import ConsentSource, Platform, ReviewRule, words

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOSTNAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII | re.IGNORECASE)
MOST_ENVIRONMENTS = 20


def _hostname(value: str) -> Iterator[Problem]:
    if not _HOSTNAME.fullmatch(value):
        yield Problem("", f"must be a hostname such as shop.example or *.shop.example, not {shown(value)}")


def _cookie_domain(value: str) -> Iterable[Problem]:
    # A leading dot is an older spelling that browsers still accept.
    return _hostname(value.removeprefix("."))


def _ip_range(value: str) -> Iterator[Problem]:
    try:
        ip_network(value, strict=False)
    except ValueError:
        example = "an address such as 192.0.2.7 or a range such as 192.0.2.0/24"
        yield Problem("", f"must be {example}, not {shown(value)}")


@check_with(type="string")
def timezone(value: object) -> Iterator[Problem]:
    """Check for a time zone of the IANA database."""
    if not isinstance(value, str) or not is_timezone(value):
        yield Problem("", f"must be an IANA time zone such as America/New_York, not {shown(value)}")


hostname: Check = in_turn(text(253), _hostname)

SETTINGS: dict[str, Check] = {
    "domains": list_of(hostname, at_most=100).described(
        "Hostnames of the site besides that of its URL.", example=["www.shop.example"]
    ),
    "cookie_domain": in_turn(text(254), _cookie_domain),
    "respect_dnt": flag.described("Store nothing of browsers that send `DNT: 1`; false by default."),
    "respect_gpc": flag.described("Store nothing of browsers that send `Sec-GPC: 1`; false by default."),
    "require_consent": flag.described("Store nothing of visitors until they agree; false by default."),
    "consent_source": choice(words(ConsentSource)).described(
        "What asks for consent, then required; the page itself by default."
    ),
    "bot_filtering": flag.described("Exclude known bots from results; true by default."),
    "excluded_ips": list_of(in_turn(text(50), _ip_range), at_most=200).described(
        "Addresses and ranges whose events are rejected.", example=["203.0.113.0/24"]
    ),
    "anti_flicker_timeout_ms": whole(0, 10_000).described(
        "Milliseconds that a page waits for the snippet; 1000 by default, 0 may show the original.",
        example=1000,
    ),
    "revenue_currency": currency.described("ISO 4217 currency code; `USD` by default."),
    "exchange_rates": exchange_rates,
    "attribution_window_days": whole(1, 365).described(
        "Days after the first exposure in which a conversion counts; all by default.", example=30
    ),
    "trusted_revenue": flag.described("Count money from servers and imports only; false by default."),
    "allowed_hosts_only": flag.described(
        "Refuse browsers unless Origin or Referer is a host of the project; false by default."
    ),
    "retention_days": whole(1, 3650).described(
        "Days that raw events are kept, longer in open experiments; for ever by default.", example=400
    ),
    "keep_nights": whole(0, 3650).described(
        "Nights whose results are kept; 30 by default, 0 keeps none.", example=30
    ),
    "share_links": flag.described("Allow share links; true by default."),
    "review": choice(words(ReviewRule)).described(
        "`required`: a start, and shipping a variant, need a second member's yes; `none` by default."
    ),
}
settings: Check = keys_of(
    SETTINGS,
    what="the settings",
    definition=("ProjectSettings", "Settings of a project. Null resets a setting to its default."),
)
platform: Check = choice(words(Platform))

_GA4 = keys_of(
    {
        "enabled": flag,
        "measurement_id": text(50).described(
            "Such as `G-XXXXXXXXXX`; required while enabled.", example="G-1A2B3C4D5E"
        ),
    },
    required=["enabled"],
    what="the ga4 integration",
    definition=("Ga4", "Integration with Google Analytics 4."),
)
_GTM = keys_of(
    {"enabled": flag},
    required=["enabled"],
    what="the gtm integration",
    definition=("Gtm", "Integration with Google Tag Manager."),
)


def _enabled_with_id(ga4: Mapping[str, Any]) -> Iterator[Problem]:
    if ga4["enabled"] and ga4.get("measurement_id") is None:
        yield Problem("measurement_id", "is required while ga4 is enabled; it looks like G-XXXXXXXXXX")


integrations: Check = keys_of(
    {"ga4": in_turn(_GA4, _enabled_with_id), "gtm": _GTM},
    what="the integrations",
    definition=(
        "Integrations",
        "Integrations of a project. Null disables one.",
    ),
)


def with_disabled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Add the integrations that are absent or null, disabled."""
    present = {name: integration for name, integration in given.items() if integration is not None}
    return {"ga4": {"enabled": False}, "gtm": {"enabled": False}, **present}


_ENVIRONMENT = keys_of(
    {"key": text(50), "name": text(255), "hostnames": list_of(hostname, at_most=100)},
    required=["key", "name"],
    what="an environment",
    definition=("Environment", "An environment of the site, such as staging."),
)


def _each_key_once(environments: Sequence[Mapping[str, Any]]) -> Iterable[Problem]:
    return repeated([environment["key"] for environment in environments], "key")


environments: Check = in_turn(
    list_of(_ENVIRONMENT, at_most=MOST_ENVIRONMENTS, distinct=False), _each_key_once
)
