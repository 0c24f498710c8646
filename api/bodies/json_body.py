"""JSON request bodies: one object, parsed strictly; the engine validates its fields."""

import json
from collections import Counter
from typing import Annotated, Any, Final

import msgspec
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from api.bodies.reader import MAX_BODY_BYTES, content_encoding_of, media_type_of, read_limited
from api.errors import INVALID, ApiError
from engine.errors import Problem

MEDIA_TYPE: Final = "application/json"
LARGE_BODY_BYTES: Final = 2**16
MAX_DEPTH: Final = 100
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_TOO_LARGE: Final = f"a body may have at most {MAX_BODY_BYTES:,} bytes"
_TOO_DEEP: Final = f"its lists and objects are nested more than {MAX_DEPTH} levels deep"


class MalformedJsonError(ValueError):
    """Text that is not JSON, or JSON that two parsers may read differently."""


async def json_object(request: Request) -> dict[str, Any]:
    """Read the body as a JSON object.

    Raises:
        ApiError: `unsupported_media_type`, `payload_too_large`, `invalid_json`, or `validation_error` for
            JSON that is not an object.
    """
    media_type = media_type_of(request, default=MEDIA_TYPE)
    if media_type != MEDIA_TYPE:
        raise ApiError("unsupported_media_type", f"send the body as {MEDIA_TYPE}, not {media_type!r}")
    encoding = content_encoding_of(request)
    if encoding != "identity":
        raise ApiError("unsupported_media_type", f"send the body as it is, without the encoding {encoding!r}")
    try:
        text = await body_bytes(request)
        # Parsing a large body on the event loop would delay other requests.
        body = read_json(text) if len(text) < LARGE_BODY_BYTES else await run_in_threadpool(read_json, text)
    except MalformedJsonError as error:
        raise ApiError("invalid_json", f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise ApiError("validation_error", INVALID, [Problem("body", "must be a JSON object")])
    return body


async def optional_json_object(request: Request) -> dict[str, Any]:
    """Read the body as a JSON object, an empty one where there is no body; ApiError as `json_object`."""
    return await json_object(request) if await body_bytes(request) else {}


JsonObject = Annotated[dict[str, Any], Depends(json_object)]
OptionalJsonObject = Annotated[dict[str, Any], Depends(optional_json_object)]


async def body_bytes(request: Request) -> bytes:
    """Return the body, read from the connection once; ApiError `payload_too_large`."""
    if not hasattr(request.state, "body"):
        request.state.body = await read_limited(request, too_large=_TOO_LARGE)
    body: bytes = request.state.body
    return body


def read_json(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse UTF-8 JSON text strictly.

    Raises:
        MalformedJsonError: for what the grammar refuses, and for `NaN`, numbers too large for a float,
            halves of surrogate pairs, a byte order mark, a name twice in one object, and nesting of more
            than MAX_DEPTH levels.
    """
    if text.startswith(BYTE_ORDER_MARK):
        raise MalformedJsonError("it starts with a byte order mark; send UTF-8 without one")
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise MalformedJsonError(_TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedJsonError(str(error)) from None
    # Few brackets cannot nest deeply, and most bodies have few.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _is_too_deep(value):
        raise MalformedJsonError(_TOO_DEEP)
    json.loads(text.decode(), object_pairs_hook=_unique_members, parse_int=len, parse_float=len)
    return value


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return any(isinstance(child, dict | list) for child in level)


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) < len(members):
        counts = Counter(name for name, _ in members)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise MalformedJsonError(f"an object names {repeated!r} more than once; name each member once")
    return unique
