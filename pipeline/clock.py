"""The clock: now, in UTC."""

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time, aware."""
    return datetime.now(UTC)


def utc_now_us() -> int:
    """Return the current time in microseconds since 1970."""
    return time.time_ns() // 1_000
