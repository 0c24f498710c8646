"""The MCP endpoint: any key of a served account may call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from api.auth import authenticate, bearer, require_served
from api.bodies.reader import MAX_BODY_BYTES
from api.mcp.server import build_server
from pipeline.clock import utc_now

# A call holds the largest body of an operation, and the name of the tool around it.
MAX_MESSAGE_BYTES: Final = 2 * MAX_BODY_BYTES


class McpEndpoint:
    """ASGI app without sessions: any process can answer any request."""

    def __init__(self, app: FastAPI) -> None:
        self._server = build_server(app)
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve requests inside this context."""
        # A list of allowed hosts would protect a server without keys from pages in a browser; this server
        # has keys, so it works behind any host name.
        sessions = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=MAX_MESSAGE_BYTES
        )
        async with sessions.run():
            self._sessions = sessions
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; ApiError `invalid_api_key` or `account_inactive`."""
        request = Request(scope)
        credentials = await bearer(request)
        caller = await run_in_threadpool(
            authenticate,
            credentials.credentials if credentials else None,
            request.app.state.services.catalog,
            utc_now(),
        )
        require_served(caller)
        request.state.caller = caller
        if self._sessions is None:
            raise RuntimeError("the endpoint takes requests while it is serving")
        await self._sessions.handle_request(scope, receive, send)
