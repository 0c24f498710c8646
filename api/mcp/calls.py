"""How a call of a tool becomes a request, and its answer what the tool returns.

How a tool reaches its operation: the request goes to the app itself, without a network between.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import anyio
from mcp_types import CallToolResult, TextContent
from starlette.requests import Request
from starlette.types import Message

from api.errors import INVALID, ApiError, error_response
from api.mcp.tools import JSON, Operation
from engine.design.validation.records import unknown_keys
from engine.errors import Problem

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


NOTHING: Final = "Done; there is nothing to return."
Placed = dict[str, dict[str, Any]]


async def call(operation: Operation, arguments: Mapping[str, Any], brought_by: Request) -> CallToolResult:
    """What the operation answers; an error is the API's own envelope, marked as an error."""
    placed = _placed(operation, arguments)
    problems = _problems(operation, placed)
    if problems:
        error = ApiError("validation_error", INVALID, problems)
        refusal = error_response(error, brought_by.state.request_id)
        return _result(Answer(refusal.status_code, bytes(refusal.body)))
    return _result(await ask(_request(operation, placed, brought_by), brought_by))


def _placed(operation: Operation, arguments: Mapping[str, Any]) -> Placed:
    placed: Placed = {"path": {}, "query": {}, "header": {}, "body": {}}
    for name, value in arguments.items():
        place = operation.places.get(name, "body")
        # In a body null means something; a parameter that is null is not given.
        if value is not None or place == "body":
            placed[place][name] = value
    return placed


def _problems(operation: Operation, placed: Placed) -> list[Problem]:
    """What no request can be made of; all else is the API's to judge."""
    in_path = [name for name, place in operation.places.items() if place == "path"]
    problems = [Problem(name, "is required") for name in in_path if name not in placed["path"]]
    if not operation.has_body:
        # A filter with a slip in its name must not silently select everybody.
        problems += unknown_keys(placed["body"], operation.places, "the tool's arguments")
    return problems


def _request(operation: Operation, placed: Placed, brought_by: Request) -> Asked:
    headers = {name: brought_by.headers.get(name, "") for name in ("authorization", "host")}
    headers |= {name.replace("_", "-"): str(value) for name, value in placed["header"].items()}
    if operation.has_body:
        headers["content-type"] = JSON
    # Quoted, no id leads out of its place in the path.
    segments = {name: quote(str(value), safe="", errors="replace") for name, value in placed["path"].items()}
    return Asked(
        method=operation.method,
        path=operation.path.format(**segments),
        query=urlencode(placed["query"], errors="replace").encode(),
        headers=[(name.encode(), value.encode("utf-8", "replace")) for name, value in headers.items()],
        body=json.dumps(placed["body"]).encode() if operation.has_body else b"",
    )


def _result(answer: Answer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=answer.body.decode() or NOTHING)],
        structured_content=answer.content,
        is_error=answer.status >= 400,
    )
