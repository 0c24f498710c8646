"""Back-off: seconds until the next attempt, longer with each failure."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 300.0


@dataclass(slots=True)
class BackOff:
    """Doubling delays with jitter: from half of 1 second up to 5 minutes."""

    failures: int = 0

    def after_failure(self, headers: Mapping[str, str] | None = None) -> float:
        """Return the seconds until the next attempt: as `Retry-After` asks, or the doubled delay."""
        self.failures += 1
        asked = None if headers is None else retry_after(headers)
        # A time of 0, or one that has passed by this clock, would have the client ask without a pause.
        if asked is not None and asked >= FIRST_SECONDS:
            return min(asked, LONGEST_SECONDS)
        longest = min(FIRST_SECONDS * 2.0 ** min(self.failures - 1, 30), LONGEST_SECONDS)
        # Half of it is random, so that the servers of a site do not come back at one moment.
        return longest * random.uniform(0.5, 1)  # noqa: S311 - spreads load, no secret

    def after_success(self) -> None:
        """Begin anew."""
        self.failures = 0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the header `Retry-After` asks for; None where it is absent or no time."""
    value = headers.get("retry-after", "")
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
