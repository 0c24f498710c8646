"""Language of a visitor, by `Accept-Language` (RFC 9110, 12.5.4) or as its sender states it."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from pipeline.events.request_headers.location import MAX_TEXT
from pipeline.events.request_headers.quality_weights import weight_of

# Browsers send fewer.
_MOST_LANGUAGES: Final = 20
_TAG: Final = re.compile(r"[a-z]{1,8}(-[a-z0-9]{1,8})*", re.ASCII | re.IGNORECASE)
# By the length of a part after the first: of a region, and of a script.
_CASES: Final[Mapping[int, Callable[[str], str]]] = {2: str.upper, 4: str.title}


def preferred_language(accept_language: str | None) -> str | None:
    """Return the tag that a browser prefers, such as `de-AT`; the first of equals, None without any."""
    best: tuple[float, str] | None = None
    for part in (accept_language or "").split(",")[:_MOST_LANGUAGES]:
        tag, _, parameters = part.strip().partition(";")
        weight = weight_of(parameters)
        if _TAG.fullmatch(tag.strip()) and weight > (best[0] if best else 0):
            best = (weight, tag.strip()[:MAX_TEXT])
    return language_tag(best[1]) if best else None


@lru_cache(maxsize=4_096)
def language_tag(value: str | None) -> str | None:
    """Return a language as it is stored: a tag in the case of RFC 5646 (2.1.1), such as `de-AT`."""
    first, *rest = (value or "").lower().split("-")
    # Longer ones are names of languages in words.
    if value is None or not _TAG.fullmatch(value) or len(first) > len("deu"):
        return value
    return "-".join([first, *(_CASES.get(len(part), str)(part) for part in rest)])
