"""SDK endpoints, answered before the framework routes a request."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from fastapi import Request, Response
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import HANDLED, answer_to
from api.sdk.indexed_request import IndexedRequest

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class SdkEndpoints:
    """ASGI middleware: calls the endpoints of routes itself, and passes every other request on.

    The framework's routing, dependencies and exit stacks take longer than the work on an event.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        """Take the routes, whose endpoints get the bare request and return the response."""
        self._app = app
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {
            (method, route.path): route.endpoint
            for route in iter_route_contexts(routes)
            if route.endpoint is not None
            for declared in route.methods or ()
            # Such an endpoint sends no body to HEAD.
            for method in ((declared, "HEAD") if declared == "GET" else (declared,))
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
