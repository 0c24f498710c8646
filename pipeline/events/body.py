"""Request bodies of events: split into events, each still JSON."""

import re
from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec

from engine.errors import Problem
from pipeline.events.batch_split import MAX_EVENTS, TooManyEventsError, TooMuchAroundError, find_batch
from pipeline.events.json_structure import SLICE_BYTES, NestingError
from pipeline.events.schema import MAX_EVENT_BYTES
from pipeline.events.timestamps import InvalidTimestampError, Timestamp, microseconds
from pipeline.events.unique_members import (
    NAME_END,
    RepeatedMemberError,
    is_plain,
    repeats_no_member,
    require_unique_members,
    sum_names,
)

# A body of this size and with that many commas is split in one go, without a pause of other requests.
MAX_UNDIVIDED_BYTES: Final = 2**18
MAX_UNDIVIDED_COMMAS: Final = 20_000
# At most so many events are decoded between two pauses.
MAX_SLICE_EVENTS: Final = 100

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# Text up to half a surrogate pair or the end; an escaped backslash never starts another escape, and nothing
# is tried twice.
_UP_TO_HALF_A_PAIR: Final = re.compile(
    rb"((?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F])(?:.|\Z))*+)"
    rb"(\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\|\Z)",
    re.DOTALL,
)


class MalformedBodyError(ValueError):
    """A body that is not a JSON object."""


class InvalidBodyError(ValueError):
    """A JSON object with an invalid field; `project_id` is that of the object, where that is known."""

    project_id: str | None = None

    def __init__(self, field: str, message: str) -> None:
        """Name the field, and what to send instead."""
        self.problems = (Problem(field, message),)
        super().__init__(message)


class _OfProject(msgspec.Struct):
    project_id: str | None = None


class _Envelope(msgspec.Struct):
    batch: list[msgspec.Raw] | None = None
    sent_at: Timestamp | None = None
    project_id: str | None = None


class EventBody(msgspec.Struct, frozen=True):
    """Events of a request, each as JSON, and the fields around them.

    `sent_us` is the time of sending by the sender's clock (epoch µs); `size` is that of the body, in bytes.
    `is_plain` where the names in the events can be counted (`unique_members.is_plain`).
    """

    events: list[msgspec.Raw]
    sent_us: int | None
    project_id: str | None
    size: int
    is_plain: bool = False


_ENVELOPE_FIELDS: Final = _Envelope.__struct_fields__
_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_decode_project: Final = msgspec.json.Decoder(_OfProject).decode
_decode_raw: Final = msgspec.json.Decoder(msgspec.Raw).decode


def read_in_slices(body: bytes, *, single: bool = False) -> Generator[None, None, EventBody]:
    """Split a body into its events, pausing where other requests may be served.

    With `single`, an object without `batch` is itself the only event.
    Raises MalformedBodyError, InvalidBodyError, TooManyEventsError and TooMuchAroundError.
    """
    whole = _read_whole(body)
    if whole is not None:
        return _event_body(body, whole, single=single, is_plain=whole.batch is not None)
    try:
        batch = yield from find_batch(body)
    except NestingError as error:
        raise MalformedBodyError(f"the body is not valid JSON: {error}") from error
    except TooMuchAroundError:
        if not single:
            raise
        # A single event of this size is rejected by its size.
        return EventBody([msgspec.Raw(body)], None, None, len(body))
    envelope, around = decode_leniently(_decode_envelope, batch.around)
    require_unique(around)
    if batch.start is None:
        return _event_body(around, envelope, single=single)
    envelope.batch = yield from _cut(body, batch.events)
    return _event_body(body, envelope)


def project_named_in(body: bytes) -> str | None:
    """Return the project id of a body, whatever is wrong with its other fields; None without one."""
    try:
        return _decode_project(body).project_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def divided(body: EventBody) -> list[EventBody]:
    """Divide the events of a body into slices that take little time to decode."""
    if body.size <= SLICE_BYTES and len(body.events) <= MAX_SLICE_EVENTS:
        return [body]
    slices: list[list[msgspec.Raw]] = [[]]
    size = 0
    for event in body.events:
        size += len(event)
        if slices[-1] and (size > SLICE_BYTES or len(slices[-1]) == MAX_SLICE_EVENTS):
            slices.append([])
            size = len(event)
        slices[-1].append(event)
    return [msgspec.structs.replace(body, events=events) for events in slices]


def _read_whole(body: bytes) -> _Envelope | None:
    """Decode a body of ordinary size; None where it has to be read in slices."""
    if len(body) > MAX_UNDIVIDED_BYTES or body.count(b",") > MAX_UNDIVIDED_COMMAS:
        return None
    try:
        envelope = _decode_envelope(body)
    except msgspec.ValidationError as error:
        raise _invalid(error) from error
    except (ValueError, RecursionError):
        # It is no JSON, or has half a surrogate pair.
        return None
    if envelope.batch is None:
        return envelope
    # Otherwise the fields around the events are told apart from them, and checked alone.
    return envelope if is_plain(body) and _repeats_no_field(body, envelope, envelope.batch) else None


def _repeats_no_field(body: bytes, envelope: _Envelope, events: list[msgspec.Raw]) -> bool:
    """Return whether no field around the events is named twice, where that is quick to tell."""
    given = len(_ENVELOPE_FIELDS) - msgspec.structs.astuple(envelope).count(None)
    return body.count(NAME_END) == given + sum_names(events) or repeats_no_member(body)


def _cut(body: bytes, places: list[tuple[int, int]]) -> Generator[None, None, list[msgspec.Raw]]:
    """Cut events out of a body, checked and repaired, pausing after each slice of it."""
    events = []
    unpaused = 0
    for start, end in places:
        event = body[start:end]
        # A larger one is rejected by its size.
        if len(event) <= MAX_EVENT_BYTES:
            event = decode_leniently(_decode_raw, event)[1]
        events.append(msgspec.Raw(event))
        unpaused += len(event)
        if unpaused > SLICE_BYTES:
            unpaused = 0
            yield
    return events


def _event_body(
    body: bytes, envelope: _Envelope, *, single: bool = False, is_plain: bool = False
) -> EventBody:
    if envelope.batch is None and not single:
        raise InvalidBodyError("batch", f"batch is required: an array of up to {MAX_EVENTS} events")
    events = [msgspec.Raw(body)] if envelope.batch is None else envelope.batch
    if len(events) > MAX_EVENTS:
        raise TooManyEventsError(f"{len(events)} events in one request; send at most {MAX_EVENTS}")
    return EventBody(events, _sent_us(envelope.sent_at), envelope.project_id, len(body), is_plain)


def require_unique(text: bytes) -> None:
    """Require that no object of a body names a member twice; MalformedBodyError."""
    try:
        require_unique_members(text)
    except (RepeatedMemberError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedBodyError(f"the body is not valid JSON: {error}") from error


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
        repaired = _UP_TO_HALF_A_PAIR.sub(_replaced, body) if _SURROGATE.search(body) else body
        if repaired == body:
            raise MalformedBodyError(f"the body is not valid JSON: {error}"[:200]) from error
        return decode_leniently(decode, repaired)


def _replaced(part: re.Match[bytes]) -> bytes:
    before, half = part.groups()
    return before + rb"\ufffd" if len(half) > 1 else part.group()


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
