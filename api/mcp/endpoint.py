"""Who may use the MCP server: whoever has a key of an account that is served."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from api.auth import authenticate, bearer, require_served
from api.bodies.reader import MAX_BODY_BYTES
from api.mcp.server import build_server

# A call holds the largest body that its operation takes, and what says which operation.
MAX_MESSAGE_BYTES: Final = 2 * MAX_BODY_BYTES


class McpEndpoint:
    """ASGI app: every request stands alone, so any process can answer any of them."""

    def __init__(self, app: FastAPI) -> None:
        self._server = build_server(app)
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Take requests inside this context, and only there."""
        # No list of allowed hosts: it guards servers without a key against a browser's page, and no page
        # knows this key. So it works behind any host name.
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
            datetime.now(UTC),
        )
        require_served(caller)
        request.state.caller = caller
        if self._sessions is None:
            raise RuntimeError("the endpoint takes requests while it is serving")
        await self._sessions.handle_request(scope, receive, send)
