"""Whether a request's body is the JSON object that an operation asks for; the engine judges what is in it.

Whether text is JSON that can mean one thing only.
"""

import json
from collections import Counter
from typing import Annotated, Any, Final

import msgspec
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from api.errors import INVALID, ApiError
from engine.errors import Problem

DEEPEST: Final = 100
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class MalformedJsonError(ValueError):
    """Text that is no JSON, or of which two readers may make different things."""


def read_json(text: bytes) -> Any:  # noqa: ANN401 - any value there is
    """The value that UTF-8 text stands for. MalformedJsonError.

    Refused besides what the grammar refuses: `NaN`, numbers too large for a float, halves of surrogate
    pairs, a byte order mark, a name twice in one object, and nesting of more than DEEPEST levels.
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
    if text.count(b"[") + text.count(b"{") > DEEPEST and _is_too_deep(value):
        raise MalformedJsonError(_TOO_DEEP)
    json.loads(text.decode(), object_pairs_hook=_distinct, parse_int=len, parse_float=len)
    return value


_TOO_DEEP: Final = f"its lists and objects are nested more than {DEEPEST} levels deep"


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(inner, dict | list) for inner in level)


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        counts = Counter(name for name, _ in members)
        twice = next(name for name, count in counts.items() if count > 1)
        raise MalformedJsonError(f"an object names {twice!r} more than once; name each member once")
    return found


MAX_BODY_BYTES: Final = 2**20
LARGE_BODY_BYTES: Final = 2**16
MEDIA_TYPE: Final = "application/json"


async def body_of(request: Request) -> bytes:
    """The body, however often it is asked for; ApiError for one of too many bytes."""
    if not hasattr(request.state, "body"):
        request.state.body = await _read(request)
    body: bytes | None = request.state.body
    if body is None:
        raise ApiError("payload_too_large", f"a body may have at most {MAX_BODY_BYTES:,} bytes")
    return body


async def json_object(request: Request) -> dict[str, Any]:
    """The body as a dict; ApiError for another media type, too many bytes, no JSON, or no object."""
    media_type = request.headers.get("content-type", MEDIA_TYPE).partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        raise ApiError("unsupported_media_type", f"send the body as {MEDIA_TYPE}, not {media_type!r}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise ApiError("unsupported_media_type", f"send the body as it is, without the encoding {encoding!r}")
    try:
        text = await body_of(request)
        # A large body takes long enough to keep others waiting.
        body = read_json(text) if len(text) < LARGE_BODY_BYTES else await run_in_threadpool(read_json, text)
    except MalformedJsonError as error:
        raise ApiError("invalid_json", f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise ApiError("validation_error", INVALID, [Problem("body", "must be a JSON object")])
    return body


JsonObject = Annotated[dict[str, Any], Depends(json_object)]


async def _read(request: Request) -> bytes | None:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)
