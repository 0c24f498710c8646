"""Resolution of http and https URLs as browsers do it (WHATWG URL), by ada-url: in their normal form."""

import re
from urllib.parse import parse_qsl, urlencode

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

    Where none is added the target stays as it is, else its query is written as URLSearchParams does.
    """
    found = URL(_encodable(target))
    own = _parameters(found)
    names = {name for name, _ in own}
    relayed = [pair for pair in _parameters(URL(_encodable(page_url))) if pair[0] not in names]
    if not relayed:
        return target
    # A tilde is not among the characters that a form leaves as they are, an asterisk is.
    found.search = urlencode([*own, *relayed], safe="*").replace("~", "%7E")
    return found.href


def _parameters(url: URL) -> list[tuple[str, str]]:
    # Not by ada's URLSearchParams, which raises for bytes that are no text.
    return parse_qsl(url.search.removeprefix("?"), keep_blank_values=True)


def _encodable(url: str) -> str:
    """Write half a surrogate pair as U+FFFD, as a browser does."""
    return _LONE_SURROGATE.sub("\ufffd", url)
