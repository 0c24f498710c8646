"""Targeting attributes of a visitor: from the sender, the page's URL, the request headers and the clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from engine.time_zones import zone
from engine.vocabulary import Weekday, words
from pipeline.events.attributes import Client, custom_dimensions_of, identity_of, segments_of

# Keyed attributes, with the names under which senders give them.
_KEYED_FIELDS: Final = {
    "query_param": ("query_param", "query_params"),
    "cookie": ("cookie", "cookies"),
}
_NO_TARGETING: Final = frozenset({"is_bot", "custom", "header_fields"})
_WEEKDAYS: Final = words(Weekday)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A visitor on a page, with the attributes that the sender gives and what the request tells."""

    visitor_id: str
    user_id: str | None
    url: str | None
    attributes: Mapping[str, Any]
    client: Client
    # By the request, where a browser sends it.
    city: str | None = None
    language: str | None = None


def targeting_attributes(visitor: Visitor, *, timezone: str, now: datetime) -> dict[str, Any]:
    """Collect the value of each targeting field, None where unknown, as targeting evaluates them.

    Raises InvalidAttributesError.
    """
    given = visitor.attributes
    local = now.astimezone(zone(timezone))
    segments = segments_of(given, visitor.url, visitor.client)
    return {
        **{name: segments.get(name) for name in segments if name not in _NO_TARGETING},
        "city": given.get("city") or visitor.city,
        "language": given.get("language") or visitor.language,
        "referrer": given.get("referrer"),
        "url": visitor.url,
        "visitor_identity": identity_of(given, visitor.user_id),
        "query_param": _in_query(visitor.url) | _keyed("query_param", given),
        "cookie": _keyed("cookie", given),
        "custom_dimension": custom_dimensions_of(given),
        "day_of_week": _WEEKDAYS[local.weekday()],
        "hour_of_day": local.hour,
    }


def _in_query(url: str | None) -> dict[str, Any]:
    try:
        return dict(parse_qsl(urlsplit(url or "").query, keep_blank_values=True, errors="replace"))
    except ValueError:
        return {}


def _keyed(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return next((dict(given[key]) for key in _KEYED_FIELDS[name] if isinstance(given.get(key), dict)), {})
