"""Slashes that are part of a segment of a path, and separate nothing."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

ENCODED: Final = re.compile("(%2f)", re.IGNORECASE)


class EncodedSlashes:
    """ASGI middleware: keeps `%2F` in a path as it came, where the server decodes it to a separator."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and b"%2f" in (raw := scope.get("raw_path") or b"").lower():
            parts = ENCODED.split(raw.decode("latin-1"))
            scope["path"] = "".join(part if ENCODED.fullmatch(part) else unquote(part) for part in parts)
        await self._app(scope, receive, send)
