"""Headers that middleware adds to answers."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.types import Message

REQUEST_ID: Final = "X-Request-Id"
_RAW_REQUEST_ID: Final = REQUEST_ID.lower().encode()

RawHeaders = Sequence[tuple[bytes, bytes]]


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Encode headers once, for every answer."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def request_id_header(request_id: str) -> tuple[bytes, bytes]:
    """Encode the header with the id of a request."""
    return (_RAW_REQUEST_ID, request_id.encode())


def set_headers(start: Message, headers: RawHeaders) -> None:
    """Set headers at the start of an answer; each replaces those of its name."""
    start["headers"] = with_headers(start["headers"], headers)


def with_headers(before: RawHeaders, headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Add headers to those of an answer; each replaces those of its name."""
    names = dict(headers)
    return [*[header for header in before if header[0] not in names], *headers]
