"""Rate limits: fixed one-minute windows, and the headers that report them."""

import logging
import math
import threading
import time
from typing import TYPE_CHECKING, Final

import msgspec

from api.errors import ApiError
from api.middleware.answer_headers import RawHeaders
from api.middleware.local_counts import LocalCounts
from pipeline.settings import Settings

if TYPE_CHECKING:
    from limits.storage import Storage

WINDOW_SECONDS: Final = 60
IN_MEMORY: Final = "memory://"
# A store that only counts requests must not delay them when it is down.
REMOTE_OPTIONS: Final = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}
RETRY_SECONDS: Final = 5.0

logger = logging.getLogger(__name__)


class Window(msgspec.Struct, frozen=True):
    """The state of a window after one more request; it ends in `reset_seconds`."""

    limit: int
    used: int
    reset_seconds: int
    is_exceeded: bool

    @property
    def headers(self) -> RawHeaders:
        """The rate-limit headers of an answer."""
        return (
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % max(self.limit - self.used, 0)),
            (b"ratelimit-reset", b"%d" % self.reset_seconds),
        )

    def require_room(self) -> None:
        """Require that this request is within the limit; ApiError `rate_limited`."""
        if self.is_exceeded:
            raise ApiError(
                "rate_limited",
                f"{self.limit:,} requests a minute are possible; wait {self.reset_seconds} s, or move to a "
                "larger plan",
                headers={"Retry-After": str(self.reset_seconds)},
            )


class RateLimits:
    """Fixed windows of one minute, each started by its first request; thread-safe."""

    def __init__(self, settings: Settings) -> None:
        """Open the store of counts that the settings name; ConfigurationError for an unknown one."""
        self._local = LocalCounts()
        self._counting = threading.Lock()
        self.is_local = settings.rate_limit_url == IN_MEMORY
        self._shared = None if self.is_local else _storage_at(settings.rate_limit_url)
        self._retry_at = 0.0

    def count(self, subject: str, limit: int) -> Window:
        """Count a request of an account or project, unless `limit` is used up.

        The count is kept apart from the limit, so that a changed limit applies from the next request.
        """
        if self._shared is not None and time.monotonic() >= self._retry_at:
            from limits.errors import StorageError  # noqa: PLC0415 - slow, and of a shared store alone

            try:
                return _count(self._shared, subject, limit)
            except StorageError as error:
                self._retry_at = time.monotonic() + RETRY_SECONDS
                logger.warning(
                    "this process counts requests alone, because the shared store does not answer: %s", error
                )
        # Otherwise there were a gap between reading and counting.
        with self._counting:
            used, seconds, is_taken = self._local.count(subject, limit, WINDOW_SECONDS)
        return Window(limit, used, _whole(seconds), not is_taken)


def _count(storage: "Storage", subject: str, limit: int) -> Window:
    if storage.get_expiry(subject) - time.time() > 2 * WINDOW_SECONDS:
        # Otherwise a window that began while the clock was ahead would last until then.
        logger.warning("the clock was set back: the window of %s begins anew", subject)
        storage.clear(subject)
    used = storage.get(subject)
    # A refused request is not counted, so that a raised limit takes effect at once.
    is_exceeded = used >= limit
    if not is_exceeded:
        used = storage.incr(subject, WINDOW_SECONDS)
        # Another process may have counted meanwhile.
        is_exceeded = used > limit
    return Window(limit, used, _whole(storage.get_expiry(subject) - time.time()), is_exceeded)


def _whole(seconds: float) -> int:
    return min(max(math.ceil(seconds), 1), WINDOW_SECONDS)


def _storage_at(url: str) -> "Storage":
    from limits.storage import Storage, storage_from_string  # noqa: PLC0415 - slow, and of a shared store alone

    storage = storage_from_string(url, wrap_exceptions=True, **REMOTE_OPTIONS)
    assert isinstance(storage, Storage)  # noqa: S101 - only async+ URLs give another type
    return storage
