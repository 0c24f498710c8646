"""Targeting attributes of a visitor: from the sender, the page's URL, the request headers and the clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from engine.design.targeting.fields import TARGETING_FIELDS
from engine.time_zones import zone
from engine.vocabulary import Weekday, words
from pipeline.events.attributes import Client, custom_dimensions_of, segments_of
from pipeline.store.event_columns import EVENT_DIMENSIONS

# Keyed attributes, with the names under which senders give them.
_KEYED_FIELDS: Final = {
    "query_param": ("query_param", "query_params"),
    "cookie": ("cookie", "cookies"),
}
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


def targeting_attributes(visitor: Visitor, *, timezone: str, now: datetime) -> dict[str, Any]:
    """Collect the value of each targeting field, None where unknown, as targeting evaluates them.

    Raises InvalidAttributesError.
    """
    given = visitor.attributes
    local = now.astimezone(zone(timezone))
    segments = segments_of(given, visitor.url, visitor.client, is_user=visitor.user_id is not None)
    dimensions = zip(EVENT_DIMENSIONS, segments.values, strict=True)
    return {
        **{name: value for name, value in dimensions if name in TARGETING_FIELDS},
        "city": given.get("city") or visitor.city,
        "language": given.get("language") or visitor.client.by_name.get("language"),
        "referrer": given.get("referrer"),
        "url": visitor.url,
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
