"""Segments of an event: from the sender's attributes, the URL and the request headers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, Final, TypedDict
from urllib.parse import parse_qs

import msgspec

from engine.vocabulary import SEGMENT_VALUES, VisitorIdentity
from pipeline.events.request_headers.location import MAX_TEXT, Location, country_code, location_of_headers
from pipeline.events.traffic_source import traffic_source
from pipeline.events.user_agent import MAX_LENGTH, UNKNOWN_DEVICE, Device, device_of
from pipeline.store.header_fields import HEADER_BITS

MAX_CUSTOM_DIMENSIONS: Final = 50

# Attributes for targeting alone: neither segments nor custom dimensions.
_TARGETING_ONLY: Final = frozenset(
    {
        "city",
        "cookie",
        "cookies",
        "day_of_week",
        "hour_of_day",
        "language",
        "query_param",
        "query_params",
        "referrer",
        "url",
        "user_agent",
        "visitor_identity",
    }
)


class InvalidAttributesError(ValueError):
    """Attributes that are not a flat object of texts, numbers and booleans."""


class Segments(TypedDict):
    """Segment columns of an event; None where unknown. `header_fields` as in EventRow."""

    is_bot: bool
    traffic_source: str | None
    device_type: str | None
    visitor_type: str | None
    os: str | None
    country: str | None
    region: str | None
    browser: str | None
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    custom: str | None
    header_fields: int


@dataclass(frozen=True, slots=True)
class Client:
    """The visitor's device and location by the request headers; unknown where a server sends the events."""

    device: Device = UNKNOWN_DEVICE
    country: str | None = None
    region: str | None = None
    # Of an event that tells nothing of its visitor; shared by all of them.
    segments: Segments = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", _segments_by_headers(self))

    @classmethod
    def of_headers(cls, headers: Mapping[str, str], location: Location | None = None) -> "Client":
        """Read the device from request headers with lower-case names, and the location unless it is given."""
        # Cut before it is kept, since a header may be long.
        user_agent = headers.get("user-agent", "")[:MAX_LENGTH]
        country, region, _ = location_of_headers(headers) if location is None else location
        return _client(user_agent, country, region)


@lru_cache(maxsize=4_096)
def _client(user_agent: str, country: str | None, region: str | None) -> Client:
    return Client(device_of(user_agent), country, region)


def _segments_by_headers(client: Client) -> Segments:
    device = client.device
    return Segments(
        is_bot=device.is_bot,
        traffic_source=None,
        device_type=device.device_type,
        visitor_type=None,
        os=device.os,
        country=client.country,
        region=client.region,
        browser=device.browser,
        utm_source=None,
        utm_medium=None,
        utm_campaign=None,
        custom=None,
        header_fields=sum(HEADER_BITS.values()),
    )


UNKNOWN_CLIENT: Final = Client()
# The sum of HEADER_BITS of the fields that are not stated, by whether each is not, in the order of the bits.
_HEADER_FIELDS: Final = {
    missing: sum(bit for bit, is_missing in zip(HEADER_BITS.values(), missing, strict=True) if is_missing)
    for missing in product((False, True), repeat=len(HEADER_BITS))
}


def segments_of(attributes: Mapping[str, Any] | None, url: str | None, client: Client) -> Segments:
    """Derive the segments of an event: from the attributes, else the URL, else the request headers.

    Every attribute that is no known field is a custom dimension. Raises InvalidAttributesError.
    """
    if not attributes and (url is None or "?" not in url):
        return client.segments
    attributes = attributes or {}
    given = _texts(attributes)
    # An empty referrer is what a browser reports where the visitor typed the address.
    referrer = attributes.get("referrer")
    device = device_of(given["user_agent"]) if "user_agent" in given else client.device
    utm = _utm(url, given)
    stated = (
        _closed("device_type", given),
        given.get("os"),
        country_code(given.get("country")),
        given.get("region"),
        given.get("browser"),
    )
    device_type, os, country, region, browser = stated
    if "user_agent" in given:
        stated = (
            device_type or device.device_type,
            os or device.os,
            country,
            region,
            browser or device.browser,
        )
    return Segments(
        is_bot=device.is_bot,
        traffic_source=given.get("traffic_source") or traffic_source(url, utm.get("utm_medium"), referrer),
        device_type=device_type or device.device_type,
        visitor_type=_closed("visitor_type", given),
        os=os or device.os,
        country=country or client.country,
        region=region or client.region,
        browser=browser or device.browser,
        utm_source=utm.get("utm_source"),
        utm_medium=utm.get("utm_medium"),
        utm_campaign=utm.get("utm_campaign"),
        custom=_custom(attributes),
        header_fields=_HEADER_FIELDS[tuple([value is None for value in stated])],
    )


def identity_of(attributes: Mapping[str, Any] | None, user_id: str | None) -> VisitorIdentity:
    """Return whether the sender knows the visitor: by a user id, or an attribute that says so."""
    if user_id is not None:
        return "identified"
    stated = attributes.get("visitor_identity") if attributes else None
    return "identified" if isinstance(stated, str) and stated.strip().lower() == "identified" else "anonymous"


_KNOWN: Final = frozenset(Segments.__annotations__) - {"is_bot", "custom", "header_fields"} | _TARGETING_ONLY
_CUSTOM_OBJECTS: Final = ("custom_dimensions", "custom_dimension")


def _texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: text
        for name, value in attributes.items()
        if name in _KNOWN and (text := _text(value, limit=None if name in _TARGETING_ONLY else MAX_TEXT))
    }


def _text(value: object, limit: int | None = MAX_TEXT) -> str | None:
    if isinstance(value, str):
        return value[:limit].strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _closed(field: str, given: Mapping[str, str]) -> str | None:
    value = given.get(field, "").lower()
    return value if value in SEGMENT_VALUES[field] else None


def _utm(url: str | None, given: Mapping[str, str]) -> dict[str, str]:
    tags = {name: value for name, value in given.items() if name.startswith("utm_")}
    if url is None or "utm_" not in url:
        return tags
    return {**_utm_in(url.partition("?")[2].partition("#")[0]), **tags}


@lru_cache(maxsize=10_000)
def _utm_in(query: str) -> Mapping[str, str]:
    parameters = parse_qs(query, errors="replace")
    return {name: values[0][:MAX_TEXT] for name, values in parameters.items() if name.startswith("utm_")}


def custom_dimensions_of(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Collect every attribute that is no known field, as text. Raises InvalidAttributesError."""
    dimensions = {
        key: value
        for key, value in attributes.items()
        if key not in _KNOWN and key not in _CUSTOM_OBJECTS and value is not None
    }
    for name in _CUSTOM_OBJECTS:
        nested = attributes.get(name)
        if nested is not None and not isinstance(nested, dict):
            raise InvalidAttributesError(f"{name} must be an object of key and value")
        dimensions |= nested or {}
    if len(dimensions) > MAX_CUSTOM_DIMENSIONS:
        raise InvalidAttributesError(f"at most {MAX_CUSTOM_DIMENSIONS} custom dimensions an event")
    return {key[:MAX_TEXT]: text for key, value in dimensions.items() if (text := _dimension(key, value))}


def _custom(attributes: Mapping[str, Any]) -> str | None:
    dimensions = custom_dimensions_of(attributes)
    return msgspec.json.encode(dimensions, order="sorted").decode() if dimensions else None


def _dimension(key: str, value: object) -> str | None:
    if isinstance(value, dict | list):
        raise InvalidAttributesError(f"attribute {key[:40]!r} must be a text, a number or a boolean")
    return _text(value)
