"""Counts of requests in this process, by subject and window."""

import time


class LocalCounts:
    """Counts with the methods of a storage of `limits`, for use by one thread at a time.

    The library's own storage in memory starts a thread, which forgets old windows, a hundred times a second.
    """

    def __init__(self) -> None:
        """Start without any."""
        # Count, and the time at which the window ends; in the order of these times.
        self._windows: dict[str, tuple[int, float]] = {}

    def __len__(self) -> int:
        """Return the number of subjects."""
        return len(self._windows)

    def get(self, key: str) -> int:
        """Return the count of a subject in its window."""
        used, ends_at = self._windows.get(key, (0, 0.0))
        return used if ends_at > time.time() else 0

    def get_expiry(self, key: str) -> float:
        """Return the time at which the window of a subject ends; now where it has none."""
        window = self._windows.get(key)
        return time.time() if window is None else window[1]

    def incr(self, key: str, expiry: float) -> int:
        """Count one more, in a window of `expiry` seconds where none is open; return the count."""
        now = time.time()
        used, ends_at = self._windows.get(key, (0, now))
        if ends_at <= now:
            self.clear(key)
            self._forget_ended(now)
            used, ends_at = 0, now + expiry
        self._windows[key] = (used + 1, ends_at)
        return used + 1

    def clear(self, key: str) -> None:
        """Forget a subject."""
        self._windows.pop(key, None)

    def _forget_ended(self, now: float) -> None:
        while self._windows:
            first = next(iter(self._windows))
            if self._windows[first][1] > now:
                return
            self.clear(first)
