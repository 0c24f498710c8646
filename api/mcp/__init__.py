"""The API for assistants: every operation is a tool of the Model Context Protocol."""

from api.mcp.addresses import ADDRESS, KeysOutOfAddresses
from api.mcp.endpoint import McpEndpoint

__all__ = ["ADDRESS", "KeysOutOfAddresses", "McpEndpoint"]
