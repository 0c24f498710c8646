"""Caching of private answers: none."""

from typing import Final

# Answers under these paths depend on the key of the request.
PRIVATE: Final = ("/api/", "/mcp/")
CACHE_CONTROL: Final = b"cache-control"
# Keeps an answer out of every cache.
NO_STORE: Final = (CACHE_CONTROL, b"no-store")
