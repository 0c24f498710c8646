"""Compressed answers: gzip and Brotli, made once for each content and kept."""

import gzip
import hashlib
from functools import partial
from typing import Final, Literal

import brotli
from starlette.concurrency import run_in_threadpool

from api.made_once import MadeOnce
from pipeline.events.request_headers.quality_weights import weight_of

Coding = Literal["br", "gzip", "identity"]
# The smallest first; what a client names without a weight is taken in this order.
CODINGS: Final[tuple[Coding, ...]] = ("br", "gzip")
# Beyond them, those that were asked for longest ago are made again.
MAX_KEPT_BYTES: Final = 32 * 2**20
# Browsers send fewer.
_MOST_CODINGS: Final = 20
_GZIP_LEVEL: Final = 9
# The best one takes 20 times as long, for 7% less.
_BROTLI_QUALITY: Final = 11
_QUICK_BROTLI_QUALITY: Final = 5


def chosen_coding(accept_encoding: str) -> Coding:
    """Choose the coding of an answer by a request's `Accept-Encoding` (RFC 9110, 12.5.3)."""
    weights = dict(_weights_in(accept_encoding))
    of_others = weights.get("*", 0.0)
    return next((coding for coding in CODINGS if weights.get(coding, of_others) > 0), "identity")


class EncodedBodies:
    """Compressed contents, by content; for use in one event loop."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        """Keep at most `max_bytes`."""
        self._made = MadeOnce(max_bytes)

    async def encoded(self, content: bytes, coding: Coding, *, is_shared: bool = True) -> bytes:
        """Return a content in a coding; quickly made where it is not shared by all visitors.

        Otherwise a sender who invents visitors could have the processor compress for each of them.
        """
        if coding == "identity":
            return content
        key = (hashlib.blake2b(content, digest_size=16).digest(), coding, is_shared)
        return await self._made.get(key, partial(run_in_threadpool, _compress, content, coding, is_shared))


def _compress(content: bytes, coding: Coding, is_shared: bool) -> bytes:  # noqa: FBT001 - called by place
    if coding == "gzip":
        # Without a time, so that equal contents have equal bytes.
        return gzip.compress(content, _GZIP_LEVEL, mtime=0)
    quality = _BROTLI_QUALITY if is_shared else _QUICK_BROTLI_QUALITY
    compressed: bytes = brotli.compress(content, quality=quality)
    return compressed


def _weights_in(accept_encoding: str) -> list[tuple[str, float]]:
    """Read codings with their weights; one whose weight is none has no weight."""
    return [
        (name.strip().lower(), weight_of(parameters))
        for name, _, parameters in (
            part.partition(";") for part in accept_encoding.split(",")[:_MOST_CODINGS]
        )
    ]
