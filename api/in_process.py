"""Requests to the app itself, in this process: permissions, limits and answers are those of the API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from api.off_loop import off_loop

# What an operation's request takes over from the request that it serves.
SHARED: Final = ("type", "asgi", "http_version", "scheme", "client", "server", "root_path")


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """The HTTP request of an operation."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True, slots=True)
class OperationAnswer:
    """The HTTP answer of an operation."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content: dict[str, Any] | None = field(init=False)
    """The JSON object of the body; None where the body is empty."""

    def __post_init__(self) -> None:
        """Decode the body once."""
        object.__setattr__(self, "content", msgspec.json.decode(self.body) if self.body else None)


async def send_in_process(request: OperationRequest, served: Request) -> OperationAnswer:
    """Send a request to the app that serves `served`, through its middleware but not the network."""
    scope = scope_of(request, served)
    unread = [request.body]
    status = 500
    headers: dict[str, str] = {}
    body = bytearray()
    is_answered = anyio.Event()

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        await is_answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers.update((name.decode(), value.decode("latin-1")) for name, value in message["headers"])
            return
        body.extend(message.get("body", b""))
        if not message.get("more_body", False):
            is_answered.set()

    await served.app(scope, receive, send)
    return await off_loop(len(body), OperationAnswer, status, bytes(body), headers)


def scope_of(request: OperationRequest, served: Request) -> Scope:
    """Return the ASGI scope of an operation's request, beside the request that it serves."""
    return {name: served.scope[name] for name in SHARED if name in served.scope} | {
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query,
        "headers": request.headers,
    }


class PassedOnResponse(Response):
    """The answer of an operation as it is sent, for files that are too large to hold."""

    def __init__(self, request: OperationRequest, served: Request) -> None:
        """Take the operation's request, and the request whose answer it becomes."""
        super().__init__()
        self._request = request
        self._served = served

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send what the operation sends."""
        await self._served.app(scope_of(self._request, self._served), receive, send)
