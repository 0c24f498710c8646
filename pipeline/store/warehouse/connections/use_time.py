"""Share of the time in which a connection is in use."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class UseTime:
    """Time for which blocks last, those of several threads together."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now, by a clock in seconds."""
        self._clock = clock
        self._changing = threading.Lock()
        self._open = 0
        self._used = 0.0
        self._changed_at = self._asked_at = clock()

    @contextmanager
    def using(self) -> Iterator[None]:
        """Count the time of the block."""
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def take_share(self) -> float:
        """Return the time of blocks since the last call, as a share of the time that has passed."""
        self._change(0)
        with self._changing:
            passed = self._changed_at - self._asked_at
            share = self._used / passed if passed > 0 else 1.0
            self._used, self._asked_at = 0.0, self._changed_at
        return share

    def _change(self, opened: int) -> None:
        with self._changing:
            now = self._clock()
            self._used += self._open * (now - self._changed_at)
            self._changed_at = now
            self._open += opened
