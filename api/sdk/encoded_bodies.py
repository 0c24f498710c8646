"""Compressed answers: gzip and Brotli, made once for each content and kept."""

import asyncio
import gzip
import hashlib
from collections import OrderedDict
from typing import Final, Literal, TypeAlias

import brotli
from starlette.concurrency import run_in_threadpool

from pipeline.events.request_headers.quality_weights import weight_of

Coding = Literal["br", "gzip", "identity"]
# The digest of a content, its coding, and whether all visitors share it.
_Key: TypeAlias = tuple[bytes, Coding, bool]
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
    """Compressed contents, by content; for use in one event loop.

    Requests that ask for the same one at once wait for one worker thread.
    """

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        """Keep at most `max_bytes`."""
        self._max_bytes = max_bytes
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._size = 0
        self._in_work: dict[_Key, asyncio.Task[bytes]] = {}

    async def encoded(self, content: bytes, coding: Coding, *, is_shared: bool = True) -> bytes:
        """Return a content in a coding; quickly made where it is not shared by all visitors.

        Otherwise a sender who invents visitors could have the processor compress for each of them.
        """
        if coding == "identity":
            return content
        key = (hashlib.blake2b(content, digest_size=16).digest(), coding, is_shared)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        task = self._in_work.get(key)
        if task is None:
            task = self._in_work[key] = asyncio.create_task(self._encode(key, content))
        # Others wait for it, too, when this request ends early.
        return await asyncio.shield(task)

    async def _encode(self, key: _Key, content: bytes) -> bytes:
        _, coding, is_shared = key
        try:
            encoded = await run_in_threadpool(_compress, content, coding, is_shared)
        finally:
            del self._in_work[key]
        self._kept[key] = encoded
        self._size += len(encoded)
        while self._size > self._max_bytes:
            self._size -= len(self._kept.popitem(last=False)[1])
        return encoded


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
