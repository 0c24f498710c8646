"""Kept segments: derived once for all events that tell the same of their visitors."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from pipeline.events.attributes import Client, Segments, segments_of

# Longer texts are not kept.
MOST_CHARACTERS: Final = 512
MOST_KEPT: Final = 4_096

_encode: Final = msgspec.json.Encoder().encode


def kept_segments_of(
    attributes: Mapping[str, Any] | None, url: str | None, client: Client, *, is_user: bool
) -> Segments:
    """Return the segments of an event whose attributes were JSON; InvalidAttributesError.

    Without a referrer, only the query of an address tells of a visitor, or a path that looks like one.
    """
    told = _encode(attributes)
    page, mark, query = (url or "").partition("?")
    is_short = len(told) + len(query) <= MOST_CHARACTERS
    if is_short and b'"referrer"' not in told and "=" not in page and "utm_" not in page:
        return kept(told, mark + query, client, is_user)
    return segments_of(attributes, url, client, is_user=is_user)


@lru_cache(maxsize=MOST_KEPT)
def kept(told: bytes, query: str, client: Client, is_user: bool) -> Segments:  # noqa: FBT001 - by place
    """Derive segments from attributes as JSON, and from the query of an address; InvalidAttributesError."""
    return segments_of(msgspec.json.decode(told), query, client, is_user=is_user)
