"""Slashes that are part of a segment of a path, and separate nothing."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import Scope

ENCODED: Final = re.compile("(%2f)", re.IGNORECASE)


def keep_encoded_slashes(scope: Scope) -> None:
    """Keep `%2F` in the path of a request as it came, where the server decodes it to a separator."""
    raw_path = scope.get("raw_path") or b""
    if b"%" in raw_path and ENCODED.search(raw := raw_path.decode("latin-1")):
        parts = ENCODED.split(raw)
        scope["path"] = "".join(part if ENCODED.fullmatch(part) else unquote(part) for part in parts)


def last_segment(scope: Scope) -> str:
    """Decode the last segment of the path of a request, in which a slash may have been encoded."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return unquote(raw_path.partition(b"?")[0].rpartition(b"/")[2].decode("latin-1"))
