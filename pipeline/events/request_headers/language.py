"""Language of a visitor, by `Accept-Language` (RFC 9110, 12.5.4)."""

import re
from typing import Final

from pipeline.events.request_headers.quality_weights import weight_of

# Browsers send fewer.
_MOST_LANGUAGES: Final = 20
_TAG: Final = re.compile(r"[a-z]{1,8}(-[a-z0-9]{1,8})*", re.ASCII | re.IGNORECASE)


def preferred_language(accept_language: str | None) -> str | None:
    """Return the tag that a browser prefers, such as `de-AT`; the first of equals, None without any."""
    best: tuple[float, str] | None = None
    for part in (accept_language or "").split(",")[:_MOST_LANGUAGES]:
        tag, _, parameters = part.strip().partition(";")
        weight = weight_of(parameters)
        if _TAG.fullmatch(tag.strip()) and weight > (best[0] if best else 0):
            best = (weight, tag.strip())
    return best[1] if best else None
