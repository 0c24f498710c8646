"""Detection of clocks that are set back or ahead."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

# Corrections of a time server are smaller, and move the clock slowly.
NOTICED_SECONDS: Final = 5.0


class ClockWatch:
    """Comparison of the clock with one that only runs forwards."""

    def __init__(self, clock: Callable[[], datetime], elapsed: Callable[[], float] = time.monotonic) -> None:
        """Start with the present time; `elapsed` gives the seconds since any moment."""
        self._clock = clock
        self._elapsed = elapsed
        self._offset = self._measure()

    def jump(self) -> float:
        """Return the seconds by which the clock was set ahead since the last call; below 0 where back.

        0 for less than NOTICED_SECONDS.
        """
        offset = self._measure()
        jump = offset - self._offset
        if abs(jump) < NOTICED_SECONDS:
            return 0.0
        self._offset = offset
        return jump

    def _measure(self) -> float:
        return self._clock().timestamp() - self._elapsed()
