"""Event times: parsed, and corrected for a wrong clock of the sender."""

from datetime import UTC, datetime
from typing import Final

from engine.local_days import epoch_microseconds

Timestamp = str | int | float
MICROSECONDS: Final = 1_000_000
MAX_AHEAD_US: Final = 10 * 60 * MICROSECONDS
MAX_AGE_US: Final = 30 * 24 * 3600 * MICROSECONDS

# The end of the year 9999; the bound also keeps every difference within 64 bits.
MAX_MILLISECONDS: Final = 253_402_300_800_000


class InvalidTimestampError(ValueError):
    """A timestamp that is neither ISO 8601 nor epoch milliseconds."""


class TooOldError(ValueError):
    """An event older than 30 days by its timestamp."""


def microseconds(timestamp: Timestamp) -> int:
    """Convert ISO 8601 text or epoch milliseconds to epoch microseconds, UTC.

    Text without an offset is UTC. Raises InvalidTimestampError.
    """
    if isinstance(timestamp, str):
        return _from_text(timestamp)
    if not 0 <= timestamp <= MAX_MILLISECONDS:
        raise InvalidTimestampError(f"{timestamp!r} is no time in milliseconds since 1970")
    return int(timestamp * 1000)


def _from_text(timestamp: str) -> int:
    try:
        moment = datetime.fromisoformat(timestamp)
        return epoch_microseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise InvalidTimestampError(
            f"{timestamp[:40]!r} is no timestamp; use ISO 8601 such as 2026-03-01T09:30:00Z, or milliseconds"
        ) from error


def occurred_at(
    timestamp: Timestamp | None,
    *,
    received_us: int,
    sent_us: int | None,
    max_age_us: int | None = MAX_AGE_US,
) -> int:
    """Compute the time of an event by the server's clock, in epoch microseconds.

    received - (sent - timestamp) where the time of sending is given, which cancels a wrong clock; else the
    timestamp; without one, the time of receipt. A time more than 10 minutes ahead becomes the time of
    receipt. Raises InvalidTimestampError, and TooOldError beyond `max_age_us` (30 days; None for no limit).
    """
    if timestamp is None:
        return received_us
    claimed = microseconds(timestamp)
    occurred = claimed if sent_us is None else received_us - (sent_us - claimed)
    if occurred > received_us + MAX_AHEAD_US:
        return received_us
    if max_age_us is not None and occurred < received_us - max_age_us:
        raise TooOldError("happened more than 30 days ago; import history with `truelift import` instead")
    return occurred
