"""CORS of the SDK endpoints, the snippet and flags: any origin, without credentials."""

from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope, Send

from api.middleware.answer_headers import raw_headers

PATHS: Final = "/api/v1/sdk/"
# Where browsers load the snippet.
SCRIPTS: Final = "/sdk/v1/"
# Flags, for providers in browsers.
FLAGS: Final = "/ofrep/v1/"
OPEN_PATHS: Final = (PATHS, SCRIPTS, FLAGS)
ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*"}
READABLE: Final = (
    "ETag",
    "X-Request-Id",
    "Retry-After",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)
SENT: Final = (
    "Authorization",
    "Content-Encoding",
    "Content-Type",
    "If-None-Match",
    "X-API-Key",
    "X-Project-Id",
    "X-SDK-Key",
)
OPEN: Final = raw_headers({**ANY_ORIGIN, "Access-Control-Expose-Headers": ", ".join(READABLE)})
PREFLIGHT: Final = raw_headers(
    {
        **ANY_ORIGIN,
        "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
        "Access-Control-Allow-Headers": ", ".join(SENT),
        # A day in seconds; browsers cap it.
        "Access-Control-Max-Age": "86400",
    }
)


def is_preflight(scope: Scope) -> bool:
    """Return whether a request to an SDK endpoint is a preflight."""
    return (
        scope["method"] == "OPTIONS"
        and scope["path"].startswith(OPEN_PATHS)
        and "access-control-request-method" in Headers(scope=scope)
    )


async def answer_preflight(send: Send) -> None:
    """Answer a preflight."""
    await send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT})
    await send({"type": "http.response.body", "body": b""})
