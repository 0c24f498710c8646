"""Middleware around every request, whichever process answers it."""

import logging
from collections.abc import Iterable

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api import logs
from api.errors import UNEXPECTED, error_response
from api.middleware import cors
from api.middleware.answer_sender import AnswerSender
from api.middleware.encoded_slashes import keep_encoded_slashes
from api.middleware.key_in_path import move_key
from api.middleware.proxies import Network, TrustedProxies
from api.middleware.request_counts import RequestCounts
from api.middleware.token_in_path import move_token
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
        token = logs.request_id.set(read_head(scope, self._proxies))
        answer = AnswerSender(scope, send)
        try:
            if cors.is_preflight(scope):
                await cors.answer_preflight(answer.bare())
            else:
                await self._app(scope, receive, answer)
        except ClientDisconnect:
            logger.info("the client left before request %s was read", scope["state"]["request_id"])
        except Exception as error:
            response = answer_to_failure(scope, error)
            if answer.has_started:
                raise
            await response(scope, receive, answer.bare())
        finally:
            logs.request_id.reset(token)
            if self._counts is not None and answer.status:
                self._counts.count(scope, answer.status)


def read_head(scope: Scope, proxies: TrustedProxies) -> str:
    """Prepare the scope of a request for the application, and return the id that the request gets."""
    # A path is decoded before anything compares it, and nothing else sees a path with a secret in it.
    keep_encoded_slashes(scope)
    move_key(scope)
    move_token(scope)
    proxies.read_reports(scope)
    request_id = new_id("req")
    scope.setdefault("state", {})["request_id"] = request_id
    return request_id


def answer_to_failure(scope: Scope, error: Exception) -> Response:
    """Log an error that nothing foresaw, and answer the request that met it."""
    request_id: str = scope["state"]["request_id"]
    path = logs.logged_path(scope["path"])
    logger.error("%s: %s %s failed", request_id, scope["method"], path, exc_info=error)
    return error_response(UNEXPECTED, request_id)
