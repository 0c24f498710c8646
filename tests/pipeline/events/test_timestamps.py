import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events.timestamps import (
    MAX_AGE_US,
    MAX_AHEAD_US,
    InvalidTimestampError,
    TooOldError,
    microseconds,
    occurred_at,
)

SECOND = 1_000_000
MINUTE = 60 * SECOND
# 2026-03-01T09:30:00Z by `date -u -d 2026-03-01T09:30:00Z +%s`.
RECEIVED = 1_772_357_400 * SECOND


@pytest.mark.parametrize(
    "timestamp",
    [
        "2026-03-01T09:30:00Z",
        "2026-03-01T09:30:00.000Z",
        "2026-03-01T09:30:00+00:00",
        "2026-03-01T10:30:00+01:00",
        "2026-03-01 09:30:00",
        "20260301T093000Z",
        1_772_357_400_000,
        1_772_357_400_000.0,
    ],
)
def test_one_moment_in_every_form_it_may_be_written(timestamp: str | float) -> None:
    assert microseconds(timestamp) == RECEIVED


@pytest.mark.parametrize(
    "timestamp",
    ["", "yesterday", "2026-02-30", "2026-03-01T25:00:00Z", "1772357400000", -1, 1e300, float("nan")],
)
def test_what_is_no_time_is_refused(timestamp: str | float) -> None:
    with pytest.raises(InvalidTimestampError):
        microseconds(timestamp)


def test_without_a_timestamp_it_happened_when_it_was_received() -> None:
    assert occurred_at(None, received_us=RECEIVED, sent_us=None) == RECEIVED


def test_without_sent_at_the_timestamp_is_believed() -> None:
    assert occurred_at("2026-03-01T09:00:00Z", received_us=RECEIVED, sent_us=None) == RECEIVED - 30 * MINUTE


@given(st.integers(-(10**15), 10**15))
def test_a_wrong_clock_of_the_sender_cancels(skew: int) -> None:
    sent = RECEIVED - 2 * SECOND + skew
    # Ten seconds before it was sent, by the same wrong clock; in milliseconds, as browsers say it.
    happened = (sent - 10 * SECOND) // 1000
    if happened < 0:
        return
    occurred = occurred_at(happened, received_us=RECEIVED, sent_us=sent)
    assert abs(occurred - (RECEIVED - 10 * SECOND)) <= 1000


def test_up_to_ten_minutes_ahead_stays() -> None:
    ahead = (RECEIVED + MAX_AHEAD_US) // 1000
    assert occurred_at(ahead, received_us=RECEIVED, sent_us=None) == RECEIVED + MAX_AHEAD_US


def test_further_ahead_becomes_the_moment_of_receipt() -> None:
    ahead = (RECEIVED + MAX_AHEAD_US) // 1000 + 1
    assert occurred_at(ahead, received_us=RECEIVED, sent_us=None) == RECEIVED


def test_thirty_days_old_is_young_enough() -> None:
    old = (RECEIVED - MAX_AGE_US) // 1000
    assert occurred_at(old, received_us=RECEIVED, sent_us=None) == RECEIVED - MAX_AGE_US


def test_older_is_rejected() -> None:
    with pytest.raises(TooOldError, match="30 days"):
        occurred_at((RECEIVED - MAX_AGE_US) // 1000 - 1, received_us=RECEIVED, sent_us=None)


def test_seconds_mistaken_for_milliseconds_are_too_old() -> None:
    with pytest.raises(TooOldError):
        occurred_at(1_772_357_400, received_us=RECEIVED, sent_us=None)
