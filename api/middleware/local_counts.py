"""Counts of requests in this process, by subject and window."""

import logging
import time
from typing import NamedTuple

logger = logging.getLogger(__name__)


class Counted(NamedTuple):
    """The count of a subject in its window, the seconds left of it, and whether one more was counted."""

    used: int
    seconds: float
    is_taken: bool


class LocalCounts:
    """Counts up to limits, for use by one thread at a time."""

    def __init__(self) -> None:
        """Start without any."""
        # Count, and the time at which the window ends; in the order of these times.
        self._windows: dict[str, tuple[int, float]] = {}

    def __len__(self) -> int:
        """Return the number of subjects."""
        return len(self._windows)

    def count(self, key: str, limit: int, seconds: float) -> Counted:
        """Count one more, in a window of `seconds` where none is open, unless `limit` is used up."""
        now = time.time()
        used, ends_at = self._windows.get(key, (0, now))
        if ends_at - now > 2 * seconds:
            # Otherwise a window that began while the clock was ahead would last until then.
            logger.warning("the clock was set back: the window of %s begins anew", key)
            ends_at = now
        if ends_at <= now:
            self._windows.pop(key, None)
            self._forget_ended(now)
            used, ends_at = 0, now + seconds
        # One that is refused is not counted, so that a raised limit takes effect at once.
        is_taken = used < limit
        if is_taken:
            used += 1
            self._windows[key] = (used, ends_at)
        return Counted(used, ends_at - now, is_taken)

    def _forget_ended(self, now: float) -> None:
        while self._windows:
            first = next(iter(self._windows))
            if self._windows[first][1] > now:
                return
            del self._windows[first]
