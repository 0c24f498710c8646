"""Resolution of http and https URLs as browsers do it (WHATWG URL), up to its normal form.

The result names the address that a browser would go to; letters and hosts that a browser writes in percent
escapes or Punycode stay as they are.
"""

import re
import unicodedata
from ipaddress import IPv6Address
from urllib.parse import parse_qsl, unquote, urlencode

__all__ = ["resolve", "with_parameters_of"]

_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"(https?):", re.ASCII | re.IGNORECASE)
_AUTHORITY = re.compile(r"/*([^/]*)(.*)", re.DOTALL)
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_DOTS = re.compile(r"(\.|%2e){2}", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"(?:.*@)?(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.DOTALL | re.ASCII)
# In a domain after its percent escapes are decoded; U+FFFD stands for bytes that are no text.
_FORBIDDEN_IN_DOMAIN = re.compile("[\0-\x20#%/:<>?@\\[\\\\\\]^|\x7f\ufffd\ud800-\udfff]")
_NUMBER = re.compile(r"0x([0-9a-f]*)|0([0-7]+)|(0|[1-9][0-9]*)", re.ASCII | re.IGNORECASE)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_MOST_PORT = 65_535
_MOST_BYTE = 255
_IPV4_BYTES = 4
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def resolve(page_url: str, target: str) -> str | None:
    """Return the absolute URL of a target on a page, both http or https; None where a browser finds none."""
    scheme, authority, path, query, _ = _parsed(page_url, ("", "", "", "", ""))
    found = _parsed(target, (scheme, authority, path, query, ""))
    return _joined(*found) if _is_authority(found[1]) else None


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


def _is_authority(authority: str) -> bool:
    """Return whether a browser takes an authority: a host, with a user before and a port after it."""
    found = _HOST_AND_PORT.fullmatch(authority)
    return found is not None and int(found[2] or 0) <= _MOST_PORT and _is_host(found[1])


def _is_host(host: str) -> bool:
    if host.startswith("["):
        try:
            # A zone is none of an address in a URL.
            return IPv6Address(host[1:-1]).scope_id is None
        except ValueError:
            return False
    domain = unicodedata.normalize("NFKC", unquote(host))
    if not domain or _FORBIDDEN_IN_DOMAIN.search(domain):
        return False
    labels = domain.removesuffix(".").split(".")
    return not _NUMERIC.fullmatch(labels[-1]) or _is_ipv4(labels)


def _is_ipv4(parts: list[str]) -> bool:
    """Return whether parts between dots are an address: hexadecimal, octal or decimal numbers."""
    numbers: list[int] = []
    for part in parts:
        found = _NUMBER.fullmatch(part)
        if found is None:
            return False
        hexadecimal, octal, decimal = found.groups()
        digits, base = (decimal, 10) if decimal else (octal, 8) if octal else (hexadecimal or "0", 16)
        numbers.append(int(digits, base))
    *before, last = numbers
    return (
        len(numbers) <= _IPV4_BYTES
        and all(one <= _MOST_BYTE for one in before)
        and last < 256 ** (_IPV4_BYTES - len(before))
    )


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
