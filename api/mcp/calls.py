"""Tool calls: a call becomes a request to the app itself, in this process, and its answer the result."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from mcp_types import CallToolResult, TextContent
from starlette.requests import Request

from api.errors import INVALID, ApiError, error_response
from api.in_process import OperationAnswer, OperationRequest, send_in_process
from api.mcp.tools import ID, JSON, Operation
from engine.errors import Problem
from engine.validation.records import unknown_keys

EMPTY_ANSWER: Final = "Done; there is nothing to return."


# The arguments of a call, by location: path, query, header or body.
Located = dict[str, dict[str, Any]]


async def call(operation: Operation, arguments: Mapping[str, Any], mcp_request: Request) -> CallToolResult:
    """Call an operation with the key of the MCP request; an error is the API's error envelope."""
    located = _locate(operation, arguments)
    problems = _problems(operation, arguments, located)
    if problems:
        return refusal(ApiError("validation_error", INVALID, problems), mcp_request)
    return _result(await send_in_process(_request(operation, located, mcp_request), mcp_request))


def refusal(error: ApiError, mcp_request: Request) -> CallToolResult:
    """Answer an error as the API does."""
    refused = error_response(error, mcp_request.state.request_id)
    return _result(OperationAnswer(refused.status_code, bytes(refused.body)))


def _locate(operation: Operation, arguments: Mapping[str, Any]) -> Located:
    located: Located = {"path": {}, "query": {}, "header": {}, "body": {}}
    for given, value in arguments.items():
        location, name = operation.place_of(given)
        # In a body null has a meaning; a parameter that is null is absent.
        if value is not None or location == "body":
            located[location][name] = value
    return located


def _problems(operation: Operation, arguments: Mapping[str, Any], located: Located) -> list[Problem]:
    """Find what makes a request impossible; the API validates the rest."""
    problems = [
        Problem(argument, "is required")
        for argument, (location, name) in operation.locations.items()
        if location == "path" and name not in located["path"]
    ]
    own = operation.own_id
    if own is not None and {own, ID} <= arguments.keys() and arguments[own] != arguments[ID]:
        problems.append(Problem(ID, f"must not differ from {own}, whose short form it is"))
    if not operation.has_body:
        # A misspelled filter must not silently select all visitors.
        problems += unknown_keys(located["body"], operation.locations, "the tool's arguments")
    return problems


def _request(operation: Operation, located: Located, mcp_request: Request) -> OperationRequest:
    headers = {name: mcp_request.headers.get(name, "") for name in ("authorization", "host")}
    headers |= {name.lower(): str(value) for name, value in located["header"].items()}
    if operation.has_body:
        headers["content-type"] = JSON
    # Quoting keeps an id inside its segment of the path.
    segments = {name: quote(str(value), safe="", errors="replace") for name, value in located["path"].items()}
    return OperationRequest(
        method=operation.method,
        path=operation.path.format(**segments),
        query=urlencode(located["query"], errors="replace").encode(),
        headers=[(name.encode(), value.encode("utf-8", "replace")) for name, value in headers.items()],
        body=json.dumps(located["body"]).encode() if operation.has_body else b"",
    )


def _result(answer: OperationAnswer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=answer.body.decode() or EMPTY_ANSWER)],
        structured_content=answer.content,
        is_error=answer.status >= 400,
    )
