"""Bodies of SDK requests: media types, gzip and deflate."""

import zlib
from typing import Final

from fastapi import Request

from api.bodies.reader import MAX_BODY_BYTES, content_encoding_of, media_type_of, read_limited
from api.errors import ApiError

MAX_DECOMPRESSED_BYTES: Final = 10 * 2**20
# A beacon sends text/plain, which needs no preflight; a body without a type is taken for JSON.
MEDIA_TYPES: Final = frozenset({"application/json", "text/plain", ""})
# gzip and zlib streams are recognised by their header; some senders call a raw deflate stream `deflate`, too.
_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
WINDOW_BITS: Final = {
    "gzip": (_GZIP_OR_ZLIB,),
    "x-gzip": (_GZIP_OR_ZLIB,),
    "deflate": (_GZIP_OR_ZLIB, _RAW_DEFLATE),
}
_TOO_LARGE: Final = "a {}body of events may have at most {:,} bytes; send fewer at once"


async def read_event_body(request: Request) -> bytes:
    """Read the body and decompress it; the JSON in it is not decoded.

    Raises:
        ApiError: `unsupported_media_type`, `payload_too_large` or `invalid_json`.
    """
    media_type = media_type_of(request, default="")
    if media_type not in MEDIA_TYPES:
        raise ApiError(
            "unsupported_media_type", f"send JSON as application/json or text/plain, not {media_type!r}"
        )
    encoding = content_encoding_of(request)
    if encoding != "identity" and encoding not in WINDOW_BITS:
        raise ApiError("unsupported_media_type", f"content encoding {encoding!r} is none of gzip, deflate")
    body = await read_limited(request, too_large=_TOO_LARGE.format("", MAX_BODY_BYTES))
    return body if encoding == "identity" else _decompress(body, WINDOW_BITS[encoding])


def _decompress(body: bytes, formats: tuple[int, ...]) -> bytes:
    for window_bits in formats:
        decompressor = zlib.decompressobj(window_bits)
        try:
            # Of a decompression bomb, no more than the limit is ever expanded.
            text = decompressor.decompress(body, MAX_DECOMPRESSED_BYTES + 1)
        except zlib.error:
            continue
        if len(text) > MAX_DECOMPRESSED_BYTES:
            raise ApiError("payload_too_large", _TOO_LARGE.format("decompressed ", MAX_DECOMPRESSED_BYTES))
        if decompressor.eof and not decompressor.unused_data:
            return text
    raise ApiError("invalid_json", "the body is not what its Content-Encoding says, or is cut short")
