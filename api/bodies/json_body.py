"""JSON request bodies: one object, parsed strictly; the engine validates its fields."""

from typing import Annotated, Any, Final

import msgspec
import numpy as np
from fastapi import Depends, Request

from api.bodies.reader import MAX_BODY_BYTES, content_encoding_of, media_type_of, read_limited
from api.errors import INVALID, ApiError
from api.off_loop import off_loop
from engine.errors import Problem
from pipeline.events.json_structure import MAX_DEPTH, NestingError, structure
from pipeline.events.unique_members import RepeatedMemberError, require_unique_members

MEDIA_TYPE: Final = "application/json"
# More values than any resource can have. A decoder lets no other thread run, so that many would stop all.
MAX_VALUES: Final = 2**16
VALUE_STARTS: Final = tuple(b",[{")
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_TOO_LARGE: Final = f"a body may have at most {MAX_BODY_BYTES:,} bytes"
_TOO_DEEP: Final = f"its lists and objects are nested more than {MAX_DEPTH} levels deep"


class MalformedJsonError(ValueError):
    """Text that is not JSON, or JSON that two parsers may read differently."""


class TooManyValuesError(ValueError):
    """JSON with more than MAX_VALUES values."""


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
        body = await off_loop(len(text), read_json, text)
    except MalformedJsonError as error:
        raise ApiError("invalid_json", f"the body is not JSON: {error}") from None
    except TooManyValuesError as error:
        raise ApiError("payload_too_large", str(error)) from None
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
        TooManyValuesError: for more than MAX_VALUES values.
    """
    if text.startswith(BYTE_ORDER_MARK):
        raise MalformedJsonError("it starts with a byte order mark; send UTF-8 without one")
    try:
        # Few bytes cannot nest deeply, and hold few values.
        if len(text) > MAX_DEPTH:
            require_bounded(text)
        value = msgspec.json.decode(text)
        require_unique_members(text)
    except RecursionError:
        raise MalformedJsonError(_TOO_DEEP) from None
    except (NestingError, RepeatedMemberError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedJsonError(str(error)) from None
    return value


def require_bounded(text: bytes, more: int = 0) -> None:
    """Require few enough levels and values, and `more` around these; NestingError, TooManyValuesError."""
    # Every value but the first of all follows a comma or an opening bracket.
    values = 1
    for tokens in structure(text):
        values += int(np.isin(tokens.characters, VALUE_STARTS).sum())
        if values > MAX_VALUES + more:
            raise TooManyValuesError(f"a body may have at most {MAX_VALUES:,} values; send fewer at once")
