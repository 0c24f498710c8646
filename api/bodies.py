"""Whether a request's body is the JSON object that an operation asks for; the engine judges what is in it."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from api.errors import INVALID, ApiError
from api.strict_json import MalformedJsonError, read_json
from engine.errors import Problem

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
