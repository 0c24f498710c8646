"""The MCP server: the tools and prompts that a key may use."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from api.mcp.calls import call
from api.mcp.prompts import PROMPTS, fill
from api.mcp.ship_answer import NAME as SHIP
from api.mcp.ship_answer import OPERATION as SHIP_OPERATION
from api.mcp.ship_answer import answer_ship, ship_tool
from api.mcp.tools import Operation, operations_of

Context = ServerRequestContext[Any, Request]
INSTRUCTIONS: Final = (
    "Truelift runs A/B tests. An experiment belongs to a project: list_projects, then list_experiments, "
    "give the ids that other tools ask for. should_we_ship takes a name. Judge a result by "
    "score_label, score_value and effective_confidence_threshold, and by the decision summary; never by a "
    "raw confidence number. Rates, lifts and confidences are percents, money is in cents. Starting, pausing, "
    "completing, archiving and deleting act on real visitors and real data: ask before you do. A tool that "
    "fails returns {error: {code, message, details, request_id}}: branch on the code, fix what the details "
    "name. A call repeated with the same idempotency key is carried out once."
)


def build_server(app: FastAPI) -> Server:
    """Build the server of an app, with its operations."""
    operations = operations_of(app)

    async def list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        offered = await _offered(operations, context)
        tools = [operation.tool for operation in offered.values()]
        # First in the list: what most users ask.
        ship = [ship_tool()] if SHIP_OPERATION in offered else []
        return ListToolsResult(tools=[*ship, *tools])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        request, arguments = _request_of(context), params.arguments or {}
        if params.name == SHIP:
            return await answer_ship(operations[SHIP_OPERATION], arguments, request)
        operation = operations.get(params.name)
        if operation is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}; tools/list names them")
        asked, given = operation.asked_by(arguments)
        return await call(asked, given, request)

    async def list_prompts(context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        offered = await _offered(operations, context)
        usable = [guide.prompt for guide in PROMPTS.values() if offered.keys() >= guide.tools]
        return ListPromptsResult(prompts=usable)

    async def get_prompt(_: Context, params: GetPromptRequestParams) -> GetPromptResult:
        return fill(params.name, params.arguments or {})

    return Server(
        "truelift",
        version=app.version,
        title=app.title,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        # No argument is sent as a header, so there is nothing to compare.
        get_tool_input_schema=lambda _: None,
    )


async def _offered(operations: Mapping[str, Operation], context: Context) -> dict[str, Operation]:
    """Return the operations that the caller's key may call."""
    request = _request_of(context)
    caller, catalog = request.state.caller, request.app.state.services.catalog

    def select() -> dict[str, Operation]:
        return {
            name: operation for name, operation in operations.items() if operation.is_open_to(caller, catalog)
        }

    return await run_in_threadpool(select)


def _request_of(context: Context) -> Request:
    if context.request is None:
        raise TypeError("MCP is served over HTTP only")
    return context.request
