"""Results of events: the codes and messages of those that are not stored, or do not count."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from pipeline.events.attributes import InvalidAttributesError
from pipeline.events.schema import ConvertEvent, TrackEvent, fields_of
from pipeline.events.timestamps import InvalidTimestampError, TooOldError

# Stable codes, and when an event gets them.
CODES: Final = {
    "invalid_event": "not a JSON object, a field of another type, or a field missing that its type needs",
    "event_too_large": "larger than 32 KiB",
    "invalid_event_id": "event_id missing, a placeholder such as `undefined`, or longer than 200 characters",
    "invalid_visitor_id": "visitor_id missing, a placeholder such as `undefined`, or too long",
    "invalid_user_id": "user_id is a placeholder such as `undefined`, or too long",
    "invalid_transaction_id": "transaction_id is a placeholder such as `undefined`, or too long",
    "invalid_type": "type is none of the event types, or kind is neither conversion nor refund",
    "invalid_timestamp": "timestamp neither ISO 8601 nor milliseconds since 1970",
    "timestamp_too_old": "happened more than 30 days ago",
    "unknown_experiment": "an exposure to an experiment that the project does not have",
    "unknown_variant": "an exposure to a variant that the experiment does not have",
    "unknown_goal": "a conversion of a goal that the project does not have",
    "invalid_value": "value or revenue_cents out of bounds, or a refund without revenue_cents",
    "untrusted_revenue": "revenue or a refund from a browser, where the project's `trusted_revenue` is true",
    "amount_too_large": "an amount from a browser above `TRUELIFT_BROWSER_AMOUNT_LIMIT`; servers may send it",
    "invalid_currency": "currency is not a three-letter code",
    "excluded_address": "sent from a network address that the project's settings exclude",
    "invalid_attributes": "an attribute that is not text, number or boolean, or over 50 custom dimensions",
}

_CODE_OF_FIELD: Final = {
    name: field.code for event in (TrackEvent, ConvertEvent) for name, (_, field) in fields_of(event).items()
}
_CODE_OF_ERROR: Final[Mapping[type[Exception], str]] = {
    InvalidTimestampError: "invalid_timestamp",
    TooOldError: "timestamp_too_old",
    InvalidAttributesError: "invalid_attributes",
}
# The id of a larger event is not looked for.
_MAX_READ_BYTES: Final = 2**18


class _Id(msgspec.Struct):
    event_id: str | None = None


_decode_id: Final = msgspec.json.Decoder(_Id).decode

# Code of an exposure that is stored, but does not count, and of an event without the visitor's consent.
NOT_COUNTED: Final = "not_counted"
LATE_REASON: Final = "the page was seen before the script came, and its visitor counts in no variant"
# Code of an order that is stored, in a currency that no revenue goal of its event counts.
OTHER_CURRENCY: Final = "other_currency"


class RejectedError(ValueError):
    """An event that is not stored: a code of CODES, and a message for its sender."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code apart from the message."""
        self.code = code
        super().__init__(message)


class EventResult(msgspec.Struct, frozen=True):
    """Result of one event, stored or rejected; `event_id` is None where it could not be read.

    One that is not rejected has the code NOT_COUNTED or OTHER_CURRENCY with the reason as message, or none.
    """

    event_id: str | None
    status: str
    code: str | None = None
    message: str | None = None


def without_consent(results: Iterable[EventResult], reason: str) -> list[EventResult]:
    """Return the results of events that are valid, and not stored because the visitor has not agreed."""
    return [
        EventResult(result.event_id, "ok", NOT_COUNTED, reason) if result.status == "ok" else result
        for result in results
    ]


def rejection(raw: msgspec.Raw, error: Exception) -> EventResult:
    """Build the result of an event that could not be decoded, or failed a check."""
    code, message = _code_and_message(error)
    return EventResult(_event_id_of(raw), "rejected", code, message)


def _code_and_message(error: Exception) -> tuple[str, str]:
    if isinstance(error, RejectedError):
        return error.code, str(error)
    if isinstance(error, msgspec.ValidationError):
        message, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`").partition("[")[0]
        return _CODE_OF_FIELD.get(field, "invalid_event"), f"{field}: {message}" if field else message
    return _CODE_OF_ERROR.get(type(error), "invalid_event"), str(error)


def _event_id_of(raw: msgspec.Raw) -> str | None:
    if len(raw) > _MAX_READ_BYTES:
        return None
    try:
        return _decode_id(raw).event_id
    except (ValueError, RecursionError):
        return None
