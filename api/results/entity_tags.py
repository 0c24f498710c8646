"""Entity tags (RFC 9110, 8.8.3), If-Match and If-None-Match: werkzeug.http takes four times as long."""

import hashlib
import re
from typing import Final

_TAG: Final = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_ANY: Final = "*"


def weak_tag(content: bytes) -> str:
    """Build the weak tag of a content: equal for equal contents, also after a restart."""
    return f"W/{strong_tag(content)}"


def strong_tag(content: bytes) -> str:
    """Build the strong tag of an answer, byte by byte."""
    return f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


def is_none_match(tag: str, if_none_match: str) -> bool:
    """Tell whether the header names neither `tag` nor `*`; tags are compared weakly, as for GET."""
    if if_none_match.strip() == _ANY:
        return False
    return tag.removeprefix("W/") not in [opaque for _, opaque in _TAG.findall(if_none_match)]


def is_match(tag: str, if_match: str) -> bool:
    """Tell whether the header names `tag` or is `*`; tags are compared strongly, so weak ones never match."""
    return if_match.strip() == _ANY or ("", tag) in _TAG.findall(if_match)
