"""How a tool reaches its operation: the request goes to the app itself, without a network between."""

import json
from dataclasses import dataclass
from typing import Any, Final

import anyio
from starlette.requests import Request
from starlette.types import Message

# What the request of a tool has in common with the one that brought the call.
SHARED: Final = ("type", "asgi", "http_version", "scheme", "client", "server", "root_path")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to make."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes

    @property
    def content(self) -> dict[str, Any] | None:
        """The JSON object that it holds; None if it is empty."""
        content: dict[str, Any] | None = json.loads(self.body) if self.body else None
        return content


async def ask(asked: Asked, brought_by: Request) -> Answer:
    """Have the app that serves `brought_by` answer another request, middleware and all."""
    scope = {name: brought_by.scope[name] for name in SHARED if name in brought_by.scope} | {
        "method": asked.method,
        "path": asked.path,
        "raw_path": asked.path.encode(),
        "query_string": asked.query,
        "headers": asked.headers,
    }
    unread = [asked.body]
    status = 500
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
            return
        body.extend(message.get("body", b""))
        if not message.get("more_body", False):
            is_answered.set()

    await brought_by.app(scope, receive, send)
    return Answer(status, bytes(body))
