"""The API: HTTP, MCP and the command line."""
