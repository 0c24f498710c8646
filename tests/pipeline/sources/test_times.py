"""Times of imported rows, whatever their type and zone."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from pipeline.sources.times import utc_microseconds

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def times_of(values: pl.Series, zone: str = "UTC") -> list[datetime | None]:
    frame = values.alias("at").to_frame().select(utc_microseconds("at", values.dtype, zone))
    return frame.select(pl.from_epoch("at", "us").dt.replace_time_zone("UTC")).to_series().to_list()


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-31 12:00:00", "2026-01-31T12:00", "2026-01-31T12:00:00Z", " 2026-01-31 12:00:00.000 "),
        *("2026-01-31 14:00:00+02", "2026-01-31T14:00:00.000000+02:00", "2026-01-31 07:00-0500"),
    ],
)
def test_texts_are_read_with_and_without_an_offset(text: str) -> None:
    assert times_of(pl.Series([text])) == [NOON]


def test_one_column_may_mix_forms_and_others_are_no_time() -> None:
    texts = ["2026-01-31", "2026-01-31T14:00:00+02:00", "soon", "", None]
    assert times_of(pl.Series(texts)) == [datetime(2026, 1, 31, tzinfo=UTC), NOON, None, None, None]
    assert times_of(pl.Series(["31/01/2026 12:00:00", "nope"])) == [NOON, None]


def test_times_without_an_offset_are_of_the_zone_and_others_keep_theirs() -> None:
    expected = [datetime(2026, 1, 31, 12, tzinfo=ZoneInfo(BERLIN)), NOON]
    texts = pl.Series(["2026-01-31 12:00:00", "2026-01-31 12:00:00Z"])
    naive = pl.Series([datetime(2026, 1, 31, 12)])  # noqa: DTZ001 - a time without a zone
    assert times_of(texts, BERLIN) == expected
    assert times_of(naive, BERLIN) == expected[:1]
    assert times_of(pl.Series([NOON]), BERLIN) == [NOON]
    assert times_of(pl.Series([date(2026, 1, 31)]), BERLIN) == [datetime(2026, 1, 30, 23, tzinfo=UTC)]


def test_an_hour_that_is_shown_twice_is_the_first_and_a_skipped_one_is_no_time() -> None:
    texts = pl.Series(["2026-10-25 02:30:00", "2026-03-29 02:30:00"])
    assert times_of(texts, BERLIN) == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC), None]


def test_whole_numbers_are_milliseconds() -> None:
    assert times_of(pl.Series([int(NOON.timestamp() * 1000), None])) == [NOON, None]
    assert times_of(pl.Series([True])) == [None]


def test_dates_that_no_calendar_has_are_no_times() -> None:
    days = pl.Series([2**31 - 1, 2_932_896, 2_932_897, -719_162, -719_163], dtype=pl.Int32).cast(pl.Date)
    ends = [datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)]
    assert times_of(days) == [None, ends[0], None, ends[1], None]
    assert times_of(pl.Series([10**17, 0]).cast(pl.Datetime("ms")))[0] is None
    assert times_of(pl.Series([2**62, 0]).cast(pl.Datetime("us", BERLIN)))[0] is None
    assert times_of(pl.Series([2**62]).cast(pl.Datetime("ns"))) == [
        datetime(2116, 2, 20, 23, 53, 38, 427387, UTC)
    ]
