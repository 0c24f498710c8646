"""Resolution of http and https URLs as browsers do it (WHATWG URL), by ada-url: in their normal form."""

import re
from urllib.parse import parse_qsl

from ada_url import URL

__all__ = ["resolve", "with_parameters_of"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def resolve(page_url: str, target: str) -> str | None:
    """Return the absolute URL of a target on a page, both http or https; None where a browser finds none."""
    try:
        found = URL(_encodable(target), _encodable(page_url))
    except ValueError:
        return None
    return found.href if found.protocol in {"http:", "https:"} else None


def with_parameters_of(page_url: str, target: str) -> str:
    """Return an absolute target with the page's query parameters, except those that it sets itself.

    They are relayed as they were written. The page's fragment is relayed where the target has none.
    """
    found, page = URL(_encodable(target)), URL(_encodable(page_url))
    own = found.search.removeprefix("?")
    names = {name for name, _ in _parameters(own)}
    texts = page.search.removeprefix("?").split("&")
    relayed = [text for text in texts if text and _parameters(text)[0][0] not in names]
    if relayed:
        found.search = "&".join([*([own] if own else []), *relayed])
    if not found.hash:
        found.hash = page.hash
    return found.href


def _parameters(query: str) -> list[tuple[str, str]]:
    # Not by ada's URLSearchParams, which raises for bytes that are no text.
    return parse_qsl(query, keep_blank_values=True)


def _encodable(url: str) -> str:
    """Write half a surrogate pair as U+FFFD, as a browser does."""
    return _LONE_SURROGATE.sub("\ufffd", url)
