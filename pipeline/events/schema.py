"""What senders write and read: the fields of an event, and the answer about each."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pipeline.events.attributes import InvalidAttributesError
from pipeline.events.rejections import CODE_OF_FIELD, RejectedError
from pipeline.events.timestamps import InvalidTimestampError, Timestamp, TooOldError

# What each type of tracked event needs beside its ids.
REQUIRED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "exposure": ("experiment_id", "variant_id"),
    "pageview": ("url",),
    "click": ("selector",),
    "custom_event": ("event_name",),
    "ga4_event": ("event_name",),
    "identify": ("user_id",),
}


CONVERSION_KINDS: Final = ("conversion", "refund")


class TrackEvent(msgspec.Struct):
    """An event as `track` takes it; ids are optional here so that each gets its own code."""

    event_id: str | None = None
    type: str | None = None
    visitor_id: str | None = None
    user_id: str | None = None
    timestamp: Timestamp | None = None
    experiment_id: str | None = None
    variant_id: str | None = None
    url: str | None = None
    selector: str | None = None
    event_name: str | None = None
    value: float | None = None
    attributes: dict[str, Any] | None = None


class ConvertEvent(msgspec.Struct):
    """A conversion as `convert` takes it."""

    event_id: str | None = None
    visitor_id: str | None = None
    user_id: str | None = None
    goal_id: str | None = None
    event_name: str | None = None
    revenue_cents: int | None = None
    currency: str | None = None
    transaction_id: str | None = None
    kind: str = "conversion"
    timestamp: Timestamp | None = None
    attributes: dict[str, Any] | None = None


class EventResult(msgspec.Struct, frozen=True):
    """What became of one event; `event_id` is None where it could not be read."""

    event_id: str | None
    status: str
    code: str | None = None
    message: str | None = None


# What other parts of reading say, as codes.
_CODE_OF_ERROR: Final[Mapping[type[Exception], str]] = {
    InvalidTimestampError: "invalid_timestamp",
    TooOldError: "timestamp_too_old",
    InvalidAttributesError: "invalid_attributes",
}
_decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode


def rejection(raw: msgspec.Raw, error: Exception) -> EventResult:
    """The answer about an event that could not be read, or was not accepted."""
    code, message = _reason(error)
    return EventResult(_event_id_of(raw), "rejected", code, message)


def _reason(error: Exception) -> tuple[str, str]:
    if isinstance(error, RejectedError):
        return error.code, str(error)
    if isinstance(error, msgspec.ValidationError):
        message, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`").partition("[")[0]
        return CODE_OF_FIELD.get(field, "invalid_event"), f"{field}: {message}" if field else message
    return _CODE_OF_ERROR.get(type(error), "invalid_event"), str(error)


def _event_id_of(raw: msgspec.Raw) -> str | None:
    try:
        event_id = _decode_object(raw).get("event_id")
    except (ValueError, RecursionError):
        return None
    return event_id if isinstance(event_id, str) else None
