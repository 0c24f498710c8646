"""Routes that are imported and built when a request first needs one of them."""

import threading
from collections.abc import Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send


class LateRoutes(BaseRoute):
    """Stand-in for the last routes of a router: the first request that no other route takes builds them."""

    def __init__(self, router: Router, build: Callable[[], Sequence[BaseRoute]]) -> None:
        self._router = router
        self._build = build
        self._building = threading.Lock()
        self._built: Sequence[BaseRoute] | None = None

    def put_in_place(self) -> Sequence[BaseRoute]:
        """Build the routes, unless that is done, and put them where this one was."""
        with self._building:
            if self._built is None:
                self._built = self._build()
                place = self._router.routes.index(self)
                self._router.routes[place : place + 1] = self._built
            return self._built

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Take every request."""
        return (Match.FULL if scope["type"] == "http" else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Build the routes, and have the request routed again."""
        # In a thread, so that other requests do not wait for the imports.
        await run_in_threadpool(self.put_in_place)
        await self._router(scope, receive, send)
