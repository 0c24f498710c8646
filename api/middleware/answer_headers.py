"""Headers that middleware adds to answers."""

from collections.abc import Mapping, Sequence

from starlette.types import Message

RawHeaders = Sequence[tuple[bytes, bytes]]


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Encode headers once, for every answer."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def set_headers(start: Message, headers: RawHeaders) -> None:
    """Set headers at the start of an answer; each replaces those of its name."""
    names = {name for name, _ in headers}
    start["headers"] = [header for header in start["headers"] if header[0] not in names] + [*headers]
