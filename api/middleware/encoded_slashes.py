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
