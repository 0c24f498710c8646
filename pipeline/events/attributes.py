"""Segments of an event: from the sender's attributes, the URL and the request headers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import msgspec

from engine.design.units import CUSTOM_OBJECTS
from engine.validation.sent_ids import whole_text
from engine.vocabulary import VisitorIdentity
from pipeline.events.request_headers.language import language_tag, preferred_language
from pipeline.events.request_headers.location import MAX_TEXT, Location, country_code, location_of_headers
from pipeline.events.traffic_source import traffic_source
from pipeline.events.user_agent import MAX_LENGTH, UNKNOWN_DEVICE, Device, device_of
from pipeline.store.event_columns import EVENT_DIMENSIONS

MAX_CUSTOM_DIMENSIONS: Final = 50

# Attributes for targeting alone: neither segments nor custom dimensions.
_TARGETING_ONLY: Final = frozenset(
    {
        "city",
        "cookie",
        "cookies",
        "day_of_week",
        "hour_of_day",
        "query_param",
        "query_params",
        "referrer",
        "url",
        "user_agent",
    }
)


class InvalidAttributesError(ValueError):
    """Attributes that are not a flat object of texts, numbers and booleans."""


class Stated(NamedTuple):
    """What the sender of an event says of its visitor; `device` is that of an attribute `user_agent`."""

    given: Mapping[str, str]
    url: str | None
    utm: Mapping[str, str]
    referrer: object
    device: Device
    is_user: bool

    def closed(self, name: str) -> str | None:
        """Return the attribute of a dimension with fixed values; None unless it is one of them."""
        if (value := self.given.get(name)) is None:
            return None
        return word if (word := value.lower()) in EVENT_DIMENSIONS[name].values else None


class Requested(NamedTuple):
    """What the request of a browser says of its visitor; `headers` are those that readers name."""

    country: str | None
    region: str | None
    device: Device
    headers: Mapping[str, str]


class Reader(NamedTuple):
    """How the value of a dimension is read: as the sender states it, else from the request.

    `headers` are the names, in lower case, of those that `header` reads beside the location and the device.
    """

    stated: Callable[[Stated], str | None]
    header: Callable[[Requested], str | None] | None = None
    headers: tuple[str, ...] = ()


def _traffic_source(said: Stated) -> str | None:
    return said.given.get("traffic_source") or traffic_source(
        said.url, said.utm.get("utm_medium"), said.referrer
    )


def _identity(said: Stated) -> VisitorIdentity:
    is_identified = said.is_user or said.given.get("visitor_identity", "").lower() == "identified"
    return "identified" if is_identified else "anonymous"


# By dimension.
READERS: Final[Mapping[str, Reader]] = {
    "traffic_source": Reader(_traffic_source),
    "device_type": Reader(
        lambda said: said.closed("device_type") or said.device.device_type,
        lambda request: request.device.device_type,
    ),
    "visitor_type": Reader(lambda said: said.closed("visitor_type")),
    "os": Reader(lambda said: said.given.get("os") or said.device.os, lambda request: request.device.os),
    "country": Reader(lambda said: country_code(said.given.get("country")), lambda request: request.country),
    "region": Reader(lambda said: said.given.get("region"), lambda request: request.region),
    "browser": Reader(
        lambda said: said.given.get("browser") or said.device.browser, lambda request: request.device.browser
    ),
    "language": Reader(
        lambda said: language_tag(said.given.get("language")),
        lambda request: preferred_language(request.headers["accept-language"]),
        headers=("accept-language",),
    ),
    "utm_source": Reader(lambda said: said.utm.get("utm_source")),
    "utm_medium": Reader(lambda said: said.utm.get("utm_medium")),
    "utm_campaign": Reader(lambda said: said.utm.get("utm_campaign")),
    "visitor_identity": Reader(_identity),
}
# In the order of the columns.
_STATED: Final = tuple(READERS[name].stated for name in EVENT_DIMENSIONS)
# The place among these, the name, and the bit of a value that only headers gave.
_BY_HEADERS: Final = tuple(
    (place, name, dimension.header_bit)
    for place, (name, dimension) in enumerate(EVENT_DIMENSIONS.items())
    if dimension.header_bit
)
_HEADERS: Final = tuple(name for reader in READERS.values() for name in reader.headers)
_OF_DEVICE: Final = ("device_type", "os", "browser")
_HEADER_BITS: Final = sum(dimension.header_bit for dimension in EVENT_DIMENSIONS.values())
_IDENTITIES: Final[Mapping[bool, VisitorIdentity]] = {True: "identified", False: "anonymous"}


class Segments(NamedTuple):
    """Segment columns of an event: `values` in the order of EVENT_DIMENSIONS, None where unknown.

    `custom` and `header_fields` are as in EventRow.
    """

    is_bot: bool
    values: tuple[str | None, ...]
    custom: str | None
    header_fields: int

    def columns(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {
            "is_bot": self.is_bot,
            **dict(zip(EVENT_DIMENSIONS, self.values, strict=True)),
            "custom": self.custom,
            "header_fields": self.header_fields,
        }


@dataclass(frozen=True, slots=True)
class Client:
    """What the request headers say of a visitor, by dimension; nothing where a server sends the events."""

    is_bot: bool = False
    known: tuple[tuple[str, str | None], ...] = ()
    by_name: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    # Of an event that tells nothing of its visitor, by whether a user is signed in; shared by all of them.
    segments: Mapping[bool, Segments] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.is_bot, self.known)))
        object.__setattr__(self, "by_name", dict(self.known))
        segments = {
            is_user: Segments(
                self.is_bot,
                tuple(
                    _IDENTITIES[is_user] if name == "visitor_identity" else self.by_name.get(name)
                    for name in EVENT_DIMENSIONS
                ),
                None,
                _HEADER_BITS,
            )
            for is_user in _IDENTITIES
        }
        object.__setattr__(self, "segments", segments)

    def __hash__(self) -> int:
        """Return the hash, computed once, since a client is looked up for each of its events."""
        return self._hash

    @classmethod
    def of_headers(cls, headers: Mapping[str, str], location: Location | None = None) -> "Client":
        """Read request headers with lower-case names; the location is theirs unless it is given."""
        country, region, _ = location_of_headers(headers) if location is None else location
        # Cut before they are kept, since headers may be long.
        texts = tuple([headers.get(name, "")[:MAX_LENGTH] for name in _HEADERS])
        return _client(headers.get("user-agent", "")[:MAX_LENGTH], country, region, texts)


@lru_cache(maxsize=4_096)
def _client(user_agent: str, country: str | None, region: str | None, texts: tuple[str, ...]) -> Client:
    device = device_of(user_agent)
    request = Requested(country, region, device, dict(zip(_HEADERS, texts, strict=True)))
    known = [(name, read(request)) for name, (_, read, _) in READERS.items() if read is not None]
    return Client(device.is_bot, tuple(known))


UNKNOWN_CLIENT: Final = Client()


def segments_of(
    attributes: Mapping[str, Any] | None, url: str | None, client: Client, *, is_user: bool
) -> Segments:
    """Derive the segments of an event: from the attributes, else the URL, else the request headers.

    Every attribute that is no known field is a custom dimension. `is_user` where the event names a user.
    Raises InvalidAttributesError.
    """
    if not attributes and (url is None or "?" not in url):
        return client.segments[is_user]
    attributes = attributes or {}
    given = _texts(attributes)
    device, is_bot, by_headers = UNKNOWN_DEVICE, client.is_bot, client.by_name
    if "user_agent" in given:
        # A server may pass on that of its visitor, which then is the device, known or not.
        device = device_of(given["user_agent"])
        is_bot = device.is_bot
        by_headers = {name: value for name, value in by_headers.items() if name not in _OF_DEVICE}
    # An empty referrer is what a browser reports where the visitor typed the address.
    said = Stated(given, url, _utm(url, given), attributes.get("referrer"), device, is_user)
    values, header_fields = [stated(said) for stated in _STATED], 0
    for place, name, bit in _BY_HEADERS:
        if values[place] is None:
            header_fields += bit
            values[place] = by_headers.get(name)
    return Segments(is_bot, tuple(values), _custom(attributes), header_fields)


# Attributes that are no custom dimensions.
KNOWN_ATTRIBUTES: Final = frozenset(EVENT_DIMENSIONS) | _TARGETING_ONLY


def _texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: text
        for name, value in attributes.items()
        if name in KNOWN_ATTRIBUTES
        and (text := _text(value, limit=None if name in _TARGETING_ONLY else MAX_TEXT))
    }


def _text(value: object, limit: int | None = MAX_TEXT) -> str | None:
    if isinstance(value, str):
        return value[:limit].strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    # JSON does not tell 12.0 from 12, nor does a browser; zeros keep their signs.
    return (value and whole_text(value)) or str(value) if isinstance(value, int | float) else None


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
        if key not in KNOWN_ATTRIBUTES and key not in CUSTOM_OBJECTS and value is not None
    }
    for name in CUSTOM_OBJECTS:
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
