"""The MCP endpoint: any key of a served account may call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from api.auth import authenticate, bearer, require_served
from api.bodies.json_body import TooManyValuesError, require_bounded
from api.bodies.reader import MAX_BODY_BYTES, read_limited
from api.errors import ApiError
from api.off_loop import off_loop
from api.services import Services
from pipeline.clock import utc_now
from pipeline.events.json_structure import NestingError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

# A call holds the largest body of an operation, and the name of the tool around it.
MAX_MESSAGE_BYTES: Final = 2 * MAX_BODY_BYTES
_VALUES_AROUND: Final = 100
_TOO_LARGE: Final = f"a message may have at most {MAX_MESSAGE_BYTES:,} bytes"


class McpEndpoint:
    """ASGI app without sessions: any process can answer any request.

    The server is built at the first request: its packages are a fifth of what a start imports.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._tasks: TaskGroup | None = None
        self._building = anyio.Lock()
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve requests inside this context."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = self._sessions = None
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; ApiError for its key, its account, and a message that is too large."""
        request = Request(scope, receive)
        credentials = await bearer(request)
        services: Services = request.app.state.services
        caller = await run_in_threadpool(
            authenticate,
            credentials.credentials if credentials else None,
            services.catalog,
            utc_now(),
            partial(services.key_refusals.note, request, "mcp"),
        )
        require_served(caller)
        request.state.caller = caller
        sessions = self._sessions or await self._start()
        await sessions.handle_request(scope, await _bounded(request), send)

    async def _start(self) -> "StreamableHTTPSessionManager":
        """Build the server and run it until the end of `serving`; of several first requests one does so."""
        async with self._building:
            if self._tasks is None:
                raise RuntimeError("the endpoint takes requests while it is serving")
            if self._sessions is None:
                # In a thread, so that other requests do not wait for the imports.
                sessions = await run_in_threadpool(_build_sessions, self._app)
                await self._tasks.start(_run, sessions)
                self._sessions = sessions
            return self._sessions


async def _bounded(request: Request) -> Receive:
    """Read a message of no more values than a body has: the protocol's package decodes on the loop."""
    message = await read_limited(request, limit=MAX_MESSAGE_BYTES, too_large=_TOO_LARGE)
    try:
        await off_loop(len(message), require_bounded, message, _VALUES_AROUND)
    except TooManyValuesError as error:
        raise ApiError("payload_too_large", str(error)) from None
    except NestingError as error:
        raise ApiError("invalid_json", f"the message is not JSON: {error}") from None
    parts = [message]

    async def receive() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await request.receive()

    return receive


def _build_sessions(app: FastAPI) -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - slow

    from api.mcp.server import build_server  # noqa: PLC0415 - slow

    # A list of allowed hosts would protect a server without keys from pages in a browser; this server
    # has keys, so it works behind any host name.
    return StreamableHTTPSessionManager(
        build_server(app), json_response=True, stateless=True, max_request_body_size=MAX_MESSAGE_BYTES
    )


async def _run(
    sessions: "StreamableHTTPSessionManager", *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with sessions.run():
        task_status.started()
        await anyio.sleep_forever()
