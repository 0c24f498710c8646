"""Middleware around every request, whichever process answers it."""

import logging
from collections.abc import Iterable

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from api import logs
from api.errors import UNEXPECTED, error_response
from api.middleware import cors
from api.middleware.answer_sender import AnswerSender
from api.middleware.encoded_slashes import keep_encoded_slashes
from api.middleware.key_in_path import move_key
from api.middleware.proxies import Network, TrustedProxies
from api.middleware.request_counts import RequestCounts
from pipeline.store.catalog.ids import new_id

logger = logging.getLogger(__name__)


class OuterMiddleware:
    """ASGI middleware: reads the head of a request, adds headers to its answer, and answers what fails.

    It is one, since seven that call each other for every message take a fifth of the time of an event.
    """

    def __init__(
        self, app: ASGIApp, networks: Iterable[Network], counts: RequestCounts | None = None
    ) -> None:
        """Believe proxies in `networks`, and add the answers to `counts`."""
        self._app = app
        self._counts = counts
        self._proxies = TrustedProxies(networks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; `request.state.request_id` is its id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A path is decoded before anything compares it, and nothing else sees a path with a key in it.
        keep_encoded_slashes(scope)
        move_key(scope)
        self._proxies.read_reports(scope)
        request_id = new_id("req")
        token = logs.request_id.set(request_id)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = AnswerSender(scope, send)
        try:
            if cors.is_preflight(scope):
                await cors.answer_preflight(answer.bare())
            else:
                await self._app(scope, receive, answer)
        except ClientDisconnect:
            logger.info("the client left before request %s was read", request_id)
        except Exception:
            logger.exception("%s: %s %s failed", request_id, scope["method"], logs.logged_path(scope["path"]))
            if answer.has_started:
                raise
            await error_response(UNEXPECTED, request_id)(scope, receive, answer.bare())
        finally:
            logs.request_id.reset(token)
            if self._counts is not None and answer.status:
                self._counts.count(scope, answer.status)
