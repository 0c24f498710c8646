"""Caching of private answers: none."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.middleware.answer_headers import set_headers

# Answers under these paths depend on the key of the request.
PRIVATE: Final = ("/api/", "/mcp/")
CACHE_CONTROL: Final = b"cache-control"
NO_STORE: Final = ((CACHE_CONTROL, b"no-store"),)


class NoStore:
    """ASGI middleware: keeps private answers out of every cache, unless their route says otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not scope["path"].startswith(PRIVATE):
            await self._app(scope, receive, send)
            return

        async def send_uncached(message: Message) -> None:
            if message["type"] == "http.response.start" and not _says_otherwise(message):
                set_headers(message, NO_STORE)
            await send(message)

        await self._app(scope, receive, send_uncached)


def _says_otherwise(start: Message) -> bool:
    return any(name == CACHE_CONTROL for name, _ in start["headers"])
