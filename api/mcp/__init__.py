"""The API for assistants: every operation is a tool of the Model Context Protocol."""

from api.mcp.endpoint import McpEndpoint
from api.mcp.key_in_path import ADDRESS, KeysOutOfAddresses

__all__ = ["ADDRESS", "KeysOutOfAddresses", "McpEndpoint"]
