"""What a request body of events must look like before any single event is read."""

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
    """Bytes that are no JSON object."""


class InvalidBodyError(ValueError):
    """A JSON object with a field that cannot be what was meant."""

    def __init__(self, field: str, message: str) -> None:
        """Name the field and what to do about it."""
        self.problems = (Problem(field, message),)
        super().__init__(message)


class TooManyEventsError(ValueError):
    """More events than one request may carry."""


class _Wire(msgspec.Struct):
    batch: list[msgspec.Raw] | None = None
    sent_at: Timestamp | None = None
    project_id: str | None = None


class EventBody(msgspec.Struct, frozen=True):
    """Events still as JSON, one each, and what the sender says about all of them."""

    events: list[msgspec.Raw]
    sent_us: int | None
    project_id: str | None
    # No event is larger than the body it came in.
    size: int


_decode_wire: Final = msgspec.json.Decoder(_Wire).decode


def read_body(body: bytes, *, single: bool = False) -> EventBody:
    """Split a body into its events; with `single`, an object without `batch` is itself the one event.

    Raises MalformedBodyError, InvalidBodyError and TooManyEventsError.
    """
    wire, body = decode_leniently(_decode_wire, body)
    if wire.batch is None and not single:
        raise InvalidBodyError("batch", "batch is required: an array of up to 500 events")
    events = [msgspec.Raw(body)] if wire.batch is None else wire.batch
    if len(events) > MAX_EVENTS:
        raise TooManyEventsError(f"{len(events)} events in one request; send at most {MAX_EVENTS}")
    return EventBody(events, _sent_us(wire.sent_at), wire.project_id, len(body))


def decode_leniently(decode: Callable[[bytes], Any], body: bytes) -> tuple[Any, bytes]:
    """Decode an object, mending lone surrogates, which browsers send when they cut an emoji in half.

    Returns it with the bytes it was read from. Raises MalformedBodyError for what is no JSON object,
    InvalidBodyError for an object whose fields have other types.
    """
    try:
        return decode(body), body
    except msgspec.ValidationError as error:
        raise _invalid(error) from error
    except (ValueError, RecursionError) as error:
        mended = _ESCAPE.sub(_mended, body)
        if mended == body:
            raise MalformedBodyError(f"the body is not valid JSON: {error}"[:200]) from error
        return decode_leniently(decode, mended)


def _mended(escape: re.Match[bytes]) -> bytes:
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
