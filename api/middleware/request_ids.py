"""Request ids, and a 500 answer for unexpected errors."""

import logging
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import logs
from api.errors import UNEXPECTED, error_response
from api.middleware.answer_headers import set_headers
from pipeline.store.catalog.ids import new_id

HEADER: Final = "X-Request-Id"
_RAW_HEADER: Final = HEADER.lower().encode()

logger = logging.getLogger(__name__)


class RequestIds:
    """ASGI middleware: sets `request.state.request_id` and the header; logs and answers unexpected errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_id("req")
        token = logs.request_id.set(request_id)
        scope.setdefault("state", {})["request_id"] = request_id
        has_started = False

        async def send_with_id(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                # A replayed answer has the id of its first request.
                set_headers(message, [(_RAW_HEADER, scope["state"]["request_id"].encode())])
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            logger.info("the client left before request %s was read", request_id)
        except Exception:
            logger.exception("%s: %s %s failed", request_id, scope["method"], scope["path"])
            if has_started:
                raise
            await error_response(UNEXPECTED, request_id)(scope, receive, send_with_id)
        finally:
            logs.request_id.reset(token)
