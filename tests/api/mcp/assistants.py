"""An assistant with a customer's key and the official client."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION

from tests.api.customers import Customer

# What a client without a library sends.
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
# Read once: each client would read the certificates of all authorities, and the service speaks plain HTTP.
_AUTHORITIES: Final = ssl.create_default_context()
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@dataclass(frozen=True, slots=True)
class Assistant:
    """An assistant with a customer's key."""

    customer: Customer

    @property
    def address(self) -> str:
        """The address with the key in it."""
        return f"{self.customer.client.base_url}/mcp/{self.customer.token}/v2/mcp"

    @asynccontextmanager
    async def connected(self, mode: str = LATEST_MODERN_VERSION) -> AsyncIterator[Client]:
        async with httpx2.AsyncClient(verify=_AUTHORITIES, timeout=30) as http:
            transport = streamable_http_client(self.address, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    async def tools(self) -> dict[str, types.Tool]:
        async with self.connected() as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Return the result of a tool; the client checks it against the tool's output schema."""
        async with self.connected() as client:
            result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def fail(self, tool: str, code: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a tool, checked for its code and envelope."""
        async with self.connected() as client:
            result = await client.call_tool(tool, arguments)
        assert result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        assert list(result.structured_content) == ["error"]
        error: dict[str, Any] = result.structured_content["error"]
        assert error["code"] == code
        assert error["request_id"].startswith("req_")
        return error
