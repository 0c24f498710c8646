"""Counts of answered requests, by method, route and status."""

from collections import Counter
from typing import Final

from starlette.types import Scope

_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
# Of requests that no route with a pattern took, so that strangers cannot add names.
OTHER: Final = "other"


class RequestCounts:
    """Answered requests of this process, for its one event loop."""

    def __init__(self, prefix: str, paths: frozenset[str] = frozenset()) -> None:
        """Know the prefix of routers, and paths of routes that leave no trace in the scope of a request."""
        self.by_route: Counter[tuple[str, str, int]] = Counter()
        self._prefix = prefix
        self._paths = paths

    def count(self, scope: Scope, status: int) -> None:
        """Count an answer to the request of a scope."""
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        self.by_route[method, self._route(scope), status] += 1

    def _route(self, scope: Scope) -> str:
        path: str = scope["path"]
        if path in self._paths:
            return path
        route = getattr(scope.get("route"), "path", None)
        if route is None:
            return OTHER
        # A route of a router knows its path within that router alone.
        is_within = path.startswith(f"{self._prefix}/") and not route.startswith(f"{self._prefix}/")
        return f"{self._prefix}{route}" if is_within else str(route)
