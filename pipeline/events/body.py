"""Request bodies of events: split into events, each still JSON."""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from engine.errors import Problem
from pipeline.events.timestamps import InvalidTimestampError, Timestamp, microseconds

MAX_EVENTS: Final = 500

# Every escape of JSON text, so that an escaped backslash never looks like the start of another one; the
# group is half a surrogate pair.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class MalformedBodyError(ValueError):
    """A body that is not a JSON object."""


class InvalidBodyError(ValueError):
    """A JSON object with an invalid field."""

    def __init__(self, field: str, message: str) -> None:
        """Name the field, and what to send instead."""
        self.problems = (Problem(field, message),)
        super().__init__(message)


class TooManyEventsError(ValueError):
    """More events than one request may carry."""


class _Envelope(msgspec.Struct):
    batch: list[msgspec.Raw] | None = None
    sent_at: Timestamp | None = None
    project_id: str | None = None


class EventBody(msgspec.Struct, frozen=True):
    """Events of a request, each as JSON, and the fields around them.

    `sent_us` is the time of sending by the sender's clock (epoch µs); `size` is that of the body, in bytes.
    """

    events: list[msgspec.Raw]
    sent_us: int | None
    project_id: str | None
    size: int


_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode


def read_body(body: bytes, *, single: bool = False) -> EventBody:
    """Split a body into its events; with `single`, an object without `batch` is itself the only event.

    Raises MalformedBodyError, InvalidBodyError and TooManyEventsError.
    """
    envelope, body = decode_leniently(_decode_envelope, body)
    if envelope.batch is None and not single:
        raise InvalidBodyError("batch", "batch is required: an array of up to 500 events")
    events = [msgspec.Raw(body)] if envelope.batch is None else envelope.batch
    if len(events) > MAX_EVENTS:
        raise TooManyEventsError(f"{len(events)} events in one request; send at most {MAX_EVENTS}")
    return EventBody(events, _sent_us(envelope.sent_at), envelope.project_id, len(body))


def decode_leniently(decode: Callable[[bytes], Any], body: bytes) -> tuple[Any, bytes]:
    """Decode an object, replacing lone surrogates, which browsers send where they cut an emoji in half.

    Returns the object and the bytes it was decoded from. Raises MalformedBodyError where the body is not a
    JSON object, InvalidBodyError where a field has another type.
    """
    try:
        return decode(body), body
    except msgspec.ValidationError as error:
        raise _invalid(error) from error
    except (ValueError, RecursionError) as error:
        repaired = _ESCAPE.sub(_replaced, body)
        if repaired == body:
            raise MalformedBodyError(f"the body is not valid JSON: {error}"[:200]) from error
        return decode_leniently(decode, repaired)


def _replaced(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape.group(1) else escape.group()


def _invalid(error: msgspec.ValidationError) -> MalformedBodyError | InvalidBodyError:
    message, _, path = str(error).partition(" - at `$.")
    if not path:
        return MalformedBodyError(f"the body must be a JSON object: {message}")
    return InvalidBodyError(path.rstrip("`"), message)


def _sent_us(sent_at: Timestamp | None) -> int | None:
    if sent_at is None:
        return None
    try:
        return microseconds(sent_at)
    except InvalidTimestampError as error:
        raise InvalidBodyError("sent_at", str(error)) from error
