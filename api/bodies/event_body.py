"""Whether a body of events may come in: its media type, its encoding, and how large it grows."""

import zlib
from typing import Final

from fastapi import Request

from api.errors import ApiError

MAX_BODY_BYTES: Final = 2**20
MAX_DECOMPRESSED_BYTES: Final = 10 * 2**20
# A beacon sends text/plain, which needs no preflight; a body without a type is taken for JSON.
MEDIA_TYPES: Final = frozenset({"application/json", "text/plain", ""})
# gzip and zlib streams tell which they are; some senders call a bare deflate stream `deflate`, too.
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_BARE: Final = -zlib.MAX_WBITS
WINDOW_BITS: Final = {"gzip": (_GZIP_OR_ZLIB,), "x-gzip": (_GZIP_OR_ZLIB,), "deflate": (_GZIP_OR_ZLIB, _BARE)}


async def read_event_body(request: Request) -> bytes:
    """The body's JSON, decompressed.

    ApiError `unsupported_media_type`, `payload_too_large` or `invalid_json`.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise ApiError(
            "unsupported_media_type", f"send JSON as application/json or text/plain, not {media_type!r}"
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity" and encoding not in WINDOW_BITS:
        raise ApiError("unsupported_media_type", f"content encoding {encoding!r} is none of gzip, deflate")
    body = await _read(request)
    return body if encoding == "identity" else _decompressed(body, WINDOW_BITS[encoding])


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY_BYTES:
        raise _too_large(MAX_BODY_BYTES)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large(MAX_BODY_BYTES)
    return bytes(body)


def _decompressed(body: bytes, formats: tuple[int, ...]) -> bytes:
    for window_bits in formats:
        decompressor = zlib.decompressobj(window_bits)
        try:
            # A bomb is never blown up beyond the limit: the rest of it stays compressed.
            text = decompressor.decompress(body, MAX_DECOMPRESSED_BYTES + 1)
        except zlib.error:
            continue
        if len(text) > MAX_DECOMPRESSED_BYTES:
            raise _too_large(MAX_DECOMPRESSED_BYTES, "decompressed ")
        if decompressor.eof and not decompressor.unused_data:
            return text
    raise ApiError("invalid_json", "the body is not what its Content-Encoding says, or is cut short")


def _too_large(limit: int, what: str = "") -> ApiError:
    return ApiError(
        "payload_too_large", f"a {what}body of events may have at most {limit:,} bytes; send fewer at once"
    )
