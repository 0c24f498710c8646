"""Local days of moments: clock changes, zones whose rules changed lately, and nonsense."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.local_days import (
    EARLIEST,
    LATEST,
    OutsideCalendarError,
    are_weekends,
    epoch_days,
    epoch_microseconds,
    from_epoch_days,
    from_epoch_microseconds,
    local_day,
    local_day_starts,
    local_days,
)
from engine.time_zones import all_zones, zone
from tests.examples import examples

NEW_YORK = ZoneInfo("America/New_York")


def days_of(moments: Sequence[str], timezone: str) -> list[str]:
    stamps = [round(datetime.fromisoformat(moment).timestamp() * 1e6) for moment in moments]
    return [str(from_epoch_days(int(day))) for day in local_days(stamps, timezone)]


def test_a_day_with_a_clock_change_has_23_or_25_hours() -> None:
    # Energy Policy Act of 2005: the second Sunday of March and the first of November.
    for day, hours in (("2026-03-08", 23), ("2026-11-01", 25), ("2026-06-01", 24)):
        start = datetime.fromisoformat(day).replace(tzinfo=NEW_YORK).astimezone(UTC)
        stamps = [round((start + timedelta(minutes=m)).timestamp() * 1e6) for m in range(-120, 27 * 60)]
        on_day = local_days(stamps, "America/New_York") == epoch_days(date.fromisoformat(day))
        assert on_day.sum() == hours * 60


@pytest.mark.parametrize(
    ("moment", "timezone", "expected"),
    [
        # British Columbia stayed on UTC-7 after its clocks went forward on 8 March 2026 (tz database 2026).
        ("2026-01-15T07:30:00Z", "America/Vancouver", "2026-01-14"),
        ("2026-12-15T07:30:00Z", "America/Vancouver", "2026-12-15"),
        # Morocco went back to UTC on 20 September 2026 (tz database 2026).
        ("2026-09-19T23:30:00Z", "Africa/Casablanca", "2026-09-20"),
        ("2026-12-15T23:30:00Z", "Africa/Casablanca", "2026-12-15"),
        # Samoa had no 30 December 2011.
        ("2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29"),
        ("2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31"),
        # North Korea was half an hour behind Japan from 15 August 2015 to 4 May 2018.
        ("2016-01-01T15:00:00Z", "Asia/Pyongyang", "2016-01-01"),
        ("2016-01-01T15:30:00Z", "Asia/Pyongyang", "2016-01-02"),
        ("2019-01-01T15:00:00Z", "Asia/Pyongyang", "2019-01-02"),
        ("2026-03-01T18:15:00Z", "Asia/Kathmandu", "2026-03-02"),
        ("1969-12-31T23:59:59.999999Z", "UTC", "1969-12-31"),
        ("1970-01-01T00:00:00Z", "US/Pacific", "1969-12-31"),
    ],
)
def test_history_and_recent_changes_are_known(moment: str, timezone: str, expected: str) -> None:
    assert days_of([moment], timezone) == [expected]


@given(
    st.sampled_from(sorted(all_zones())),
    st.lists(st.integers(int(EARLIEST.timestamp()), int(LATEST.timestamp()) - 1), min_size=1, max_size=20),
)
def test_many_moments_at_once_fall_on_the_days_that_zoneinfo_gives(timezone: str, seconds: list[int]) -> None:
    one_by_one = [
        epoch_days(datetime.fromtimestamp(s, UTC).astimezone(zone(timezone)).date()) for s in seconds
    ]
    assert local_days(np.array(seconds) * 1_000_000, timezone).tolist() == one_by_one


@examples(15, 100, seconds=6)
@given(st.sampled_from(sorted(all_zones())), st.integers(1990, 2040))
def test_every_change_of_a_clock_is_found(timezone: str, year: int) -> None:
    start = datetime(year, 1, 1, tzinfo=UTC)
    stamps = [start + timedelta(minutes=30 * step) for step in range(48 * 365)]
    local = [stamp.astimezone(zone(timezone)).date() for stamp in stamps]
    days = local_days([int(stamp.timestamp()) * 1_000_000 for stamp in stamps], timezone)
    assert days.tolist() == [epoch_days(day) for day in local]


def test_days_keep_the_shape_of_the_moments() -> None:
    assert local_days(np.zeros((2, 3), np.int64), "UTC").shape == (2, 3)
    assert local_days([], "UTC").shape == (0,)


@pytest.mark.parametrize("seconds", [-(2**62) // 10**6, 2**62 // 10**6, int(LATEST.timestamp())])
def test_a_moment_outside_the_calendar_is_refused(seconds: int) -> None:
    with pytest.raises(OutsideCalendarError, match="are they microseconds"):
        local_days([seconds * 1_000_000], "UTC")


@pytest.mark.parametrize(
    ("day", "timezone", "first_moment"),
    [
        ("2026-03-08", "America/New_York", "2026-03-08T05:00:00+00:00"),
        ("2026-03-09", "America/New_York", "2026-03-09T04:00:00+00:00"),
        # Chile's clocks skip the midnight of the Sunday after the first Saturday of September.
        ("2025-09-07", "America/Santiago", "2025-09-07T04:00:00+00:00"),
        # Cuba's clocks go back from one o'clock: midnight comes twice, and the first counts.
        ("2025-11-02", "America/Havana", "2025-11-02T04:00:00+00:00"),
        ("2026-12-01", "America/Vancouver", "2026-12-01T07:00:00+00:00"),
    ],
)
def test_a_local_day_begins_at_its_first_moment(day: str, timezone: str, first_moment: str) -> None:
    start = datetime.fromisoformat(first_moment)
    assert str(local_day(start, timezone)) == day
    assert local_day(start - timedelta(microseconds=1), timezone) < date.fromisoformat(day)


@given(st.dates(date(1970, 1, 1), date(2100, 1, 1)))
def test_a_week_ends_with_saturday_and_sunday(day: date) -> None:
    is_weekend = day.strftime("%u") in {"6", "7"}
    assert are_weekends([epoch_days(day)]).tolist() == [is_weekend]


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_since_1970_are_exact_both_ways(moment: datetime) -> None:
    microseconds = epoch_microseconds(moment)
    assert microseconds == (moment.toordinal() - 719_163) * 86_400_000_000 + (
        ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond
    )
    assert from_epoch_microseconds(microseconds) == moment


def test_days_since_1970_are_those_of_the_calendar() -> None:
    assert epoch_days(date(2000, 3, 1)) == 11_017
    assert from_epoch_days(-1) == date(1969, 12, 31)


@examples(30, 300)
@given(
    zone_name=st.sampled_from(sorted(all_zones())),
    first=st.integers(0, 1_900_000_000_000_000),
    length=st.integers(0, 400 * 86_400_000_000),
    share=st.floats(0, 1),
)
def test_the_last_start_before_a_moment_is_that_of_its_day(
    zone_name: str, first: int, length: int, share: float
) -> None:
    starts, days = local_day_starts(first, first + length, zone_name)
    # At each start, just before it, and somewhere.
    moments = np.array([*starts, *(start - 1 for start in starts[1:]), first + int(length * share)])
    found = np.array(days)[np.searchsorted(starts, moments, side="right") - 1]
    assert (found == local_days(moments, zone_name)).all()
