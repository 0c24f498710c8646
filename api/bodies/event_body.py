"""Bodies of SDK requests: media types, gzip and deflate."""

import zlib
from typing import Final

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from api.bodies.reader import MAX_BODY_BYTES, content_encoding_of, media_type_of, read_limited
from api.errors import ApiError

# Largest body as it is sent, and decompressed.
EVENTS: Final = (MAX_BODY_BYTES, 10 * 2**20)
VISIT: Final = (2**16, 2**16)
# A body may expand freely to this size, and from there on to a multiple of its own.
FREE_EXPANSION_BYTES: Final = 2**20
MAX_EXPANSION: Final = 20
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
_TOO_LARGE: Final = "this body may have at most {:,} bytes; send less at once"
_EXPANDS: Final = (
    "this body may decompress to at most {:,} bytes: the endpoint's limit, and beyond "
    f"{FREE_EXPANSION_BYTES:,} bytes at most {MAX_EXPANSION} times its compressed size; send less at once"
)


async def read_event_body(request: Request, limits: tuple[int, int]) -> bytes:
    """Read the body and decompress it; the JSON in it is not decoded.

    `limits` are the most bytes as sent and decompressed.

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
    sent, decompressed = limits
    body = await read_limited(request, limit=sent, too_large=_TOO_LARGE.format(sent))
    if encoding == "identity":
        return body
    most = min(decompressed, max(FREE_EXPANSION_BYTES, MAX_EXPANSION * len(body)))
    # Inflating lets other threads run, which decoding does not.
    return await run_in_threadpool(_decompress, body, WINDOW_BITS[encoding], most)


def _decompress(body: bytes, formats: tuple[int, ...], limit: int) -> bytes:
    for window_bits in formats:
        decompressor = zlib.decompressobj(window_bits)
        try:
            # Of a decompression bomb, no more than the limit is ever expanded.
            text = decompressor.decompress(body, limit + 1)
        except zlib.error:
            continue
        if len(text) > limit:
            raise ApiError("payload_too_large", _EXPANDS.format(limit))
        if decompressor.eof and not decompressor.unused_data:
            return text
    raise ApiError("invalid_json", "the body is not what its Content-Encoding says, or is cut short")
