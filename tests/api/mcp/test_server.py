"""The server's instructions, and requests for tools and prompts that it does not have."""

import re

import pytest
from fastapi import FastAPI
from mcp import MCPError

from api.mcp.server import INSTRUCTIONS, build_server
from api.mcp.ship_answer import NAME
from api.mcp.tools import Operation
from tests.api.mcp.assistants import Assistant


def test_instructions_name_tools_and_fields_that_exist(operations: dict[str, Operation]) -> None:
    names = set(re.findall(r"[a-z]+(?:_[a-z]+)+", INSTRUCTIONS))
    fields = {"score_label", "score_value", "effective_confidence_threshold", "request_id"}
    assert fields < names
    assert names - fields == {"list_projects", "list_experiments", NAME}
    assert names - fields - {NAME} <= set(operations)


def test_the_server_has_the_version_of_the_api(app: FastAPI) -> None:
    server = build_server(app)
    assert (server.name, server.version, server.instructions) == ("truelift", app.version, INSTRUCTIONS)


@pytest.mark.anyio
async def test_an_unknown_prompt_is_an_error_of_the_protocol(assistant: Assistant) -> None:
    async with assistant.connected() as client:
        with pytest.raises(MCPError, match="there is no prompt 'sing'"):
            await client.get_prompt("sing", {})
