"""SDK endpoints, answered before the framework routes a request."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from fastapi import Request, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import HANDLED, answer_to
from api.middleware.cors import PATHS
from api.sdk.config_answer import answer_config
from api.sdk.indexed_request import IndexedRequest
from api.sdk.init import answer_init
from api.sdk.track import answer_conversions, answer_events

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
# The description of each is that of the route with its path in `api.routes.sdk`.
ROUTES: Final = (
    Route(f"{PATHS}track", answer_events, methods=["POST"]),
    Route(f"{PATHS}convert", answer_conversions, methods=["POST"]),
    Route(f"{PATHS}config", answer_config),
    Route(f"{PATHS}init", answer_init, methods=["POST"]),
)


class SdkEndpoints:
    """ASGI middleware: calls the endpoints of routes itself, and passes every other request on.

    The framework's routing, dependencies and exit stacks take longer than the work on an event.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        """Take the routes, whose endpoints get the bare request and return the response."""
        self._app = app
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {
            # HEAD is among them with GET, and gets no body.
            (method, route.path): route.endpoint
            for route in routes
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        endpoint = None
        if scope["type"] == "http":
            endpoint = self._endpoints.get((scope["method"], scope["path"]))
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        response = await response_of(endpoint, scope, receive)
        await response(scope, receive, send)


async def response_of(endpoint: Endpoint, scope: Scope, receive: Receive) -> Response:
    """Call an endpoint, or answer the error that refuses the request."""
    request = IndexedRequest(scope, receive)
    try:
        return await endpoint(request)
    except HANDLED as error:
        response = answer_to(request, error)
        # The frames of an error that a future keeps would keep the request's events, too.
        error.__traceback__ = None
        return response
