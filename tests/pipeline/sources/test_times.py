"""Times of imported rows, whatever their type and zone."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from engine.local_days import epoch_microseconds
from pipeline.sources.times import count_repeated, read_times, utc_microseconds

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


@pytest.mark.parametrize("unit", [1, 1000, 10**6, 10**9])
def test_numbers_are_seconds_since_1970_or_parts_of_them(unit: int) -> None:
    number = int(NOON.timestamp()) * unit
    assert times_of(pl.Series([number, None])) == [NOON, None]
    assert times_of(pl.Series([str(number)])) == [NOON]
    assert times_of(pl.Series([float(number)])) == [NOON]


def test_seconds_have_fractions_and_other_numbers_are_no_time() -> None:
    soon = NOON.replace(microsecond=250_000)
    seconds = NOON.timestamp() + 0.25
    assert times_of(pl.Series([seconds, float("nan"), 1e30])) == [soon, None, None]
    assert times_of(pl.Series([str(seconds), "46023", "1" * 21])) == [soon, None, None]
    assert times_of(pl.Series([2**64 - 1], dtype=pl.UInt64)) == [None]
    assert times_of(pl.Series([True])) == [None]


def faults_of(values: pl.Series, zone: str = "UTC") -> list[str | None]:
    _, faults = read_times(values.alias("at").to_frame(), "at", zone, now_us=epoch_microseconds(NOON))
    return faults.to_list()


def test_times_before_2000_and_over_a_year_ahead_are_no_times_of_rows() -> None:
    times = ["1999-12-31 23:59:59", "2000-01-01", "2027-01-31", "2027-02-02", "5", "", None]
    example = "'at' is not a time such as 2026-01-31 12:00:00"
    assert faults_of(pl.Series(times)) == [
        *("'at' is a time of 1999, before 2000", None, None),
        *("'at' is a time of 2027, more than a year ahead", example, example, example),
    ]
    # Milliseconds of 1970, or days since then.
    assert faults_of(pl.Series([86_400_000, 20_484])) == [
        "'at' is a time of 1972, before 2000",
        "'at' is a time of 1970, before 2000",
    ]


def test_local_times_that_occur_twice_are_counted_and_those_that_never_do_are_told() -> None:
    texts = pl.Series("at", ["2026-10-25 02:30", "2026-10-25 03:00", "2025-03-30 02:30"])
    assert faults_of(texts, BERLIN) == [
        None,
        None,
        f"'at' 2025-03-30 02:30:00 is a time that clocks of {BERLIN} skip",
    ]
    assert faults_of(texts) == [None, None, None]
    assert count_repeated(texts.to_frame(), "at", BERLIN) == 1
    assert count_repeated(texts.str.to_datetime("%Y-%m-%d %H:%M").to_frame(), "at", BERLIN) == 1
    assert count_repeated(pl.DataFrame({"at": ["2026-10-25 02:30+02:00"]}), "at", BERLIN) == 0
    assert count_repeated(texts.to_frame(), "at", "UTC") == 0


def test_dates_are_read_as_excel_writes_them_unless_they_may_be_of_two_days() -> None:
    texts = [
        "31.01.2026 12:00",
        "31.1.2026, 12:00:00",
        "31/01/2026 12:00",
        "1/31/2026 12:00",
        "2026/1/31 12:00",
    ]
    assert times_of(pl.Series(texts)) == [NOON] * len(texts)
    assert times_of(pl.Series(["1.2.2026", "20260201"])) == [datetime(2026, 2, 1, tzinfo=UTC)] * 2
    assert faults_of(pl.Series(["01/02/2026", "1-2-2026"])) == [
        f"'at' {text} may be of two days; write dates as 2026-01-31" for text in ("01/02/2026", "1-2-2026")
    ]


def test_dates_that_no_calendar_has_are_no_times() -> None:
    days = pl.Series([2**31 - 1, 2_932_896, 2_932_897, -719_162, -719_163], dtype=pl.Int32).cast(pl.Date)
    ends = [datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)]
    assert times_of(days) == [None, ends[0], None, ends[1], None]
    assert times_of(pl.Series([10**17, 0]).cast(pl.Datetime("ms")))[0] is None
    assert times_of(pl.Series([2**62, 0]).cast(pl.Datetime("us", BERLIN)))[0] is None
    assert times_of(pl.Series([2**62]).cast(pl.Datetime("ns"))) == [
        datetime(2116, 2, 20, 23, 53, 38, 427387, UTC)
    ]
