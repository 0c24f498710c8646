"""Where an API key may stand in an address, and how it is out of it before anything can write it down."""

import re
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

# Where requests go once their key is in the header; a client that can send headers may come straight here.
ADDRESS: Final = "/mcp/v2/mcp"
WITH_KEY: Final = re.compile(r"/mcp/([^/]+)/v2/mcp")
# A whole token in any other address is a mistake; what stays tells whose.
SECRET: Final = re.compile(r"(svc(?:(?:_|%5F)[^_%/?&]+){2}(?:_|%5F))[^/?&]+", re.IGNORECASE)


class KeysOutOfAddresses:
    """ASGI middleware: the key in `/mcp/<API_KEY>/v2/mcp` becomes the bearer key of the request.

    It changes the scope that it was given, and not a copy: the server writes its access log from that one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] in {"http", "websocket"}:
            _move_key(scope)
        await self._app(scope, receive, send)


def _move_key(scope: Scope) -> None:
    keyed = WITH_KEY.fullmatch(scope["path"])
    if keyed:
        others = [header for header in scope["headers"] if header[0] != b"authorization"]
        scope["headers"] = [*others, (b"authorization", b"Bearer " + keyed[1].encode())]
        _set_path(scope, ADDRESS)
        return
    if SECRET.search(scope["path"]):
        _set_path(scope, SECRET.sub(r"\1***", scope["path"]))
    scope["query_string"] = SECRET.sub(r"\1***", scope["query_string"].decode("latin-1")).encode("latin-1")


def _set_path(scope: Scope, path: str) -> None:
    scope["path"] = path
    # Only what looks at the bytes on the wire reads this; it may not keep what the path lost.
    scope["raw_path"] = path.encode()
