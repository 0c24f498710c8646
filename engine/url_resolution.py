"""Resolution of http and https URLs as browsers do it (WHATWG URL), up to its normal form.

The result names the address that a browser would go to; letters and hosts that a browser writes in percent
escapes or Punycode stay as they are.
"""

import re
from urllib.parse import parse_qsl, urlencode

__all__ = ["resolve", "with_parameters_of"]

_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"(https?):", re.ASCII | re.IGNORECASE)
_AUTHORITY = re.compile(r"/*([^/]*)(.*)", re.DOTALL)
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_DOTS = re.compile(r"(\.|%2e){2}", re.IGNORECASE)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def resolve(page_url: str, target: str) -> str:
    """Return the absolute URL of a target on a page, both http or https."""
    scheme, authority, path, query, _ = _parsed(page_url, ("", "", "", "", ""))
    return _joined(*_parsed(target, (scheme, authority, path, query, "")))


def with_parameters_of(page_url: str, target: str) -> str:
    """Return an absolute target with the page's query parameters, except those that it sets itself.

    Where none is added the target stays as it is, else its query is written as URLSearchParams does.
    """
    nothing = ("", "", "", "", "")
    scheme, authority, path, query, fragment = _parsed(target, nothing)
    own = _parameters(query)
    names = {name for name, _ in own}
    relayed = [pair for pair in _parameters(_parsed(page_url, nothing)[3]) if pair[0] not in names]
    if not relayed:
        return target
    # A tilde is not among the characters that a form leaves as they are, an asterisk is.
    encoded = urlencode([*own, *relayed], safe="*").replace("~", "%7E")
    return _joined(scheme, authority, path, f"?{encoded}", fragment)


_Parts = tuple[str, str, str, str, str]


def _parsed(url: str, base: _Parts) -> _Parts:
    """Split into scheme, authority, path, `?query` and `#fragment`; what is missing is of the base."""
    url = url.strip(_EDGES).translate(_DROPPED)
    before, hash_sign, fragment = url.partition("#")
    rest, question_mark, query = before.partition("?")
    rest = rest.replace("\\", "/")
    scheme, authority, base_path, base_query, _ = base
    is_absolute = False
    if named := _SCHEME.match(rest):
        rest = rest[named.end() :]
        # https:a on a page of https is relative.
        is_absolute = named[1].lower() != scheme
        scheme = named[1].lower()
    if is_absolute or rest.startswith("//"):
        found = _AUTHORITY.fullmatch(rest)
        authority, path = found.groups() if found else ("", "")
    elif rest.startswith("/"):
        path = rest
    elif rest:
        path = base_path.rpartition("/")[0] + "/" + rest
    else:
        path, query = base_path, query if question_mark else base_query.removeprefix("?")
        question_mark = question_mark or base_query[:1]
    return scheme, authority, _without_dots(path), question_mark + query, hash_sign + fragment


def _without_dots(path: str) -> str:
    """Resolve `.` and `..` in a path, and their escapes."""
    kept: list[str] = []
    segments = path.removeprefix("/").split("/")
    for segment in segments:
        if _DOTS.fullmatch(segment):
            kept = kept[:-1]
        elif not _DOT.fullmatch(segment):
            kept.append(segment)
    last = segments[-1]
    ends_in_dots = _DOT.fullmatch(last) or _DOTS.fullmatch(last)
    return "/" + "/".join([*kept, ""] if ends_in_dots else kept)


def _parameters(query: str) -> list[tuple[str, str]]:
    # A browser encodes half a surrogate pair as U+FFFD.
    text = _LONE_SURROGATE.sub("\ufffd", query.removeprefix("?"))
    return parse_qsl(text, keep_blank_values=True)


def _joined(scheme: str, authority: str, path: str, query: str, fragment: str) -> str:
    return f"{scheme}://{authority}{path}{query}{fragment}"
