"""API keys in paths: the key of an MCP URL moves into a header before anything can log it."""

import re
from typing import Final

from starlette.types import Scope

# The endpoint itself; a client that can send headers may call it directly.
PATH: Final = "/mcp/v2/mcp"
PATH_WITH_KEY: Final = re.compile(r"/mcp/([^/]+)/v2/mcp")
# A whole token anywhere else in a URL is a mistake; its public part stays, to identify the key.
SECRET: Final = re.compile(r"(svc(?:(?:_|%5F)[^_%/?&]+){2}(?:_|%5F))[^/?&]+", re.IGNORECASE)


def move_key(scope: Scope) -> None:
    """Make the key in `/mcp/<API_KEY>/v2/mcp` the bearer key of the request.

    The scope is changed in place, because the server writes its access log from the original scope.
    """
    match = PATH_WITH_KEY.fullmatch(scope["path"])
    if match:
        others = [header for header in scope["headers"] if header[0] != b"authorization"]
        scope["headers"] = [*others, (b"authorization", b"Bearer " + match[1].encode())]
        _set_path(scope, PATH)
        return
    if SECRET.search(scope["path"]):
        _set_path(scope, SECRET.sub(r"\1***", scope["path"]))
    if scope["query_string"]:
        scope["query_string"] = SECRET.sub(r"\1***", scope["query_string"].decode("latin-1")).encode(
            "latin-1"
        )


def _set_path(scope: Scope, path: str) -> None:
    scope["path"] = path
    # The path as it came holds the secret, too.
    scope["raw_path"] = path.encode()
