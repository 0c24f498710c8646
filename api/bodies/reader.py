"""Request body reader: media type, encoding, and bytes up to a limit."""

from typing import Final

from fastapi import Request
from starlette.requests import ClientDisconnect

from api.errors import ApiError

MAX_BODY_BYTES: Final = 2**20
# Files that are imported: how their names end, by media type.
SUFFIXES: Final = {"text/csv": ".csv", "application/vnd.apache.parquet": ".parquet"}


def media_type_of(request: Request, *, default: str) -> str:
    """Return the media type in lower case, without parameters; `default` where the header is absent."""
    return request.headers.get("content-type", default).partition(";")[0].strip().lower()


def content_encoding_of(request: Request) -> str:
    """Return the content encoding in lower case, `identity` where the header is absent."""
    return request.headers.get("content-encoding", "identity").strip().lower()


async def read_limited(request: Request, *, limit: int = MAX_BODY_BYTES, too_large: str) -> bytes:
    """Read the body from the connection, at most `limit` bytes of it.

    Raises:
        ApiError: `payload_too_large` with the message `too_large`.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise ApiError("payload_too_large", too_large)
    parts = list[bytes]()
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise ApiError("payload_too_large", too_large)
        if not message.get("more_body", False):
            return b"".join(parts)
