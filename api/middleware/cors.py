"""CORS of the SDK endpoints: any origin, without credentials."""

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.middleware.answer_headers import raw_headers, set_headers

PATHS: Final = "/api/v1/sdk/"
ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*"}
READABLE: Final = ("X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
OPEN: Final = raw_headers({**ANY_ORIGIN, "Access-Control-Expose-Headers": ", ".join(READABLE)})
PREFLIGHT: Final = raw_headers(
    {
        **ANY_ORIGIN,
        "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
        "Access-Control-Allow-Headers": "Authorization, Content-Encoding, Content-Type, X-SDK-Key",
        # A day in seconds; browsers cap it.
        "Access-Control-Max-Age": "86400",
    }
)


class SdkCors:
    """ASGI middleware: answers preflights of the SDK endpoints, and opens their answers to any origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not scope["path"].startswith(PATHS):
            await self._app(scope, receive, send)
            return

        async def send_readable(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_headers(message, OPEN)
            await send(message)

        if scope["method"] == "OPTIONS" and "access-control-request-method" in Headers(scope=scope):
            await send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send_readable)
