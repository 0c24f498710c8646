"""How many requests a minute are answered, and what every answer tells about that."""

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Final

from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import ApiError
from pipeline.settings import Settings

WINDOW_SECONDS: Final = 60
IN_MEMORY: Final = "memory://"
# A shared store that does not answer must not hold up what it only counts.
REMOTE_OPTIONS: Final = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}
APART_SECONDS: Final = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Window:
    """What is left of a minute after one more request; `reset_seconds` from now it is over."""

    limit: int
    used: int
    reset_seconds: int
    is_exceeded: bool

    @property
    def headers(self) -> dict[str, str]:
        """As an answer tells it."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(self.limit - self.used, 0)),
            "RateLimit-Reset": str(self.reset_seconds),
        }

    def require_room(self) -> None:
        """ApiError `rate_limited` if this request is one too many."""
        if self.is_exceeded:
            raise ApiError(
                "rate_limited",
                f"{self.limit:,} requests a minute are possible; wait {self.reset_seconds} s, or move to a "
                "larger plan",
                headers={"Retry-After": str(self.reset_seconds)},
            )


class RateLimits:
    """Fixed windows of one minute, each begun by the first request in it; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        """Count where the settings say; ConfigurationError where that is nowhere."""
        self._local = MemoryStorage()
        self._counting = threading.Lock()
        self.is_local = settings.rate_limit_url == IN_MEMORY
        self._shared = None if self.is_local else _storage_at(settings.rate_limit_url)
        self._try_again_at = 0.0

    def count(self, subject: str, limit: int) -> Window:
        """Count a request of an account or project, unless it has used up `limit`.

        The count does not depend on the limit, so that another limit holds from the next request on.
        """
        if self._shared is not None and time.monotonic() >= self._try_again_at:
            try:
                return _count(self._shared, subject, limit)
            except StorageError as error:
                self._try_again_at = time.monotonic() + APART_SECONDS
                logger.warning("this process counts requests alone, their store does not answer: %s", error)
        # The library's own locks leave a gap between looking and counting.
        with self._counting:
            return _count(self._local, subject, limit)


class RateLimitHeaders:
    """ASGI middleware: every answer to somebody whose requests were counted says what is left."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; whoever counts it leaves the window in `request.state.window`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_window(message: Message) -> None:
            window: Window | None = scope.get("state", {}).get("window")
            if message["type"] == "http.response.start" and window is not None:
                MutableHeaders(scope=message).update(window.headers)
            await send(message)

        await self._app(scope, receive, send_with_window)


def _count(storage: Storage, subject: str, limit: int) -> Window:
    used = storage.get(subject)
    # What is refused is not counted: who keeps asking is served again as soon as the limit is raised.
    is_exceeded = used >= limit
    if not is_exceeded:
        used = storage.incr(subject, WINDOW_SECONDS)
        # Another process may have come between.
        is_exceeded = used > limit
    seconds = math.ceil(storage.get_expiry(subject) - time.time())
    return Window(limit, used, min(max(seconds, 1), WINDOW_SECONDS), is_exceeded)


def _storage_at(url: str) -> Storage:
    storage = storage_from_string(url, wrap_exceptions=True, **REMOTE_OPTIONS)
    assert isinstance(storage, Storage)  # noqa: S101 - async+ URLs would give another kind
    return storage
