"""Times of imported rows: texts, dates and times of any zone, as microseconds since 1970 in UTC."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import polars as pl

EXAMPLE: Final = "2026-01-31 12:00:00"
_OFFSET: Final = r"\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:[zZ]|[+-]\d\d(?::?\d\d)?)$"
# Days since 1970 of 0001-01-01 and of the one after 9999-12-31: the calendar of Python.
_FIRST_DAY: Final = -719_162
_END_DAY: Final = 2_932_897
_DAY_US: Final = 86_400_000_000
_DAY_IN: Final = {"ms": _DAY_US // 1000, "us": _DAY_US}
_LOCAL_FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_OFFSET_FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")
# Other ways to write a date that have one meaning. 01/02/2026 has two, by country.
_AFTER_12: Final = r"(1[3-9]|2\d|3[01])"
_DATE_FORMS: Final = (
    (r"^(\d{4})/(\d{1,2})/(\d{1,2})", "$1-$2-$3"),
    (r"^(\d{4})(\d\d)(\d\d)$", "$1-$2-$3"),
    (r"^(\d{1,2})\.(\d{1,2})\.(\d{4}),?", "$3-$2-$1"),
    (rf"^{_AFTER_12}[/-](\d{{1,2}})[/-](\d{{4}}),?", "$3-$2-$1"),
    (rf"^(\d{{1,2}})[/-]{_AFTER_12}[/-](\d{{4}}),?", "$3-$1-$2"),
    # Two digits each.
    (r"^(\d{4})-(\d)-", "$1-0$2-"),
    (r"^(\d{4}-\d\d)-(\d)( |$)", "$1-0$2$3"),
    (r"^(\d{4}-\d\d-\d\d) (\d):", "$1 0$2:"),
)
_OF_TWO_DAYS: Final = r"^(0?[1-9]|1[0-2])[/-](0?[1-9]|1[0-2])[/-]\d{4}"
# Seconds, milliseconds, microseconds or nanoseconds since 1970: from the year 2000 to 5138 each has numbers
# of its own.
_NUMBER: Final = r"^(\d{9,20}(?:\.\d+)?)$"
_SECONDS_END: Final = 10**11
_EARLIEST_US: Final = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_LATEST_AHEAD_US: Final = 366 * _DAY_US


def is_in_calendar(name: str, kind: pl.DataType) -> pl.Expr:
    """Tell whether a date or time of a column is in the years 1 to 9999, or null.

    Polars gives up, with a panic, at the year, the text and the Python value of any other.
    """
    column = pl.col(name)
    is_time = isinstance(kind, pl.Datetime) and kind.time_unit in _DAY_IN
    if not (is_time or kind == pl.Date):
        return pl.lit(value=True)
    day, slack = 1, 0
    if isinstance(kind, pl.Datetime):
        # A local time is up to a day before or after that of UTC.
        day, slack = _DAY_IN[kind.time_unit], int(kind.time_zone is not None)
    first, end = (_FIRST_DAY + slack) * day, (_END_DAY - slack) * day
    is_between = column.to_physical().is_between(first, end, closed="left")
    return is_between.fill_null(value=True)


def utc_microseconds(name: str, kind: pl.DataType, time_zone: str) -> pl.Expr:
    """Build the times of a column (epoch µs); null for an empty cell and anything that is no time.

    Times without an offset are of the zone: of an hour that clocks show twice the first, of one that they
    skip none. Numbers are seconds since 1970, or thousandths, millionths or billionths of them.
    """
    return pl.coalesce(_absolute(name, kind), _in_zone(_local(name, kind), time_zone)).alias(name)


def read_times(rows: pl.DataFrame, name: str, time_zone: str, *, now_us: int) -> tuple[pl.Series, pl.Series]:
    """Read the times of a column (epoch µs), and why those of rows are unusable, null for usable ones."""
    kind = rows.schema[name]
    at = rows.select(utc_microseconds(name, kind, time_zone)).to_series()
    is_usable = at.is_between(_EARLIEST_US, now_us + _LATEST_AHEAD_US).fill_null(value=False)
    # Most chunks have usable times only, and need no reasons.
    if is_usable.all():
        return at, pl.repeat(None, len(at), dtype=pl.String, eager=True)
    faults = _faults(name, kind, time_zone, pl.col("(at)"), now_us)
    reason = pl.coalesce(*(pl.when(test).then(reason) for test, reason in faults))
    return at, rows.with_columns(at.alias("(at)")).select(reason).to_series()


def _faults(
    name: str, kind: pl.DataType, time_zone: str, at: pl.Expr, now_us: int
) -> Iterator[tuple[pl.Expr, pl.Expr]]:
    local = _local(name, kind)
    if kind == pl.String:
        has_two_days = pl.col(name).str.strip_chars().str.contains(_OF_TWO_DAYS)
        yield (
            has_two_days,
            pl.format("'{}' {} may be of two days; write dates as 2026-01-31", pl.lit(name), pl.col(name)),
        )
    yield (
        at.is_null() & local.is_not_null(),
        pl.format(
            "'{}' {} is a time that clocks of {} skip",
            pl.lit(name),
            local.dt.to_string(_LOCAL_FORMATS[0].removesuffix("%.f")),
            pl.lit(time_zone),
        ),
    )
    yield at.is_null(), pl.lit(f"'{name}' is not a time such as {EXAMPLE}")
    year = pl.from_epoch(at, time_unit="us").dt.year()
    yield at < _EARLIEST_US, pl.format("'{}' is a time of {}, before 2000", pl.lit(name), year)
    yield (
        at > now_us + _LATEST_AHEAD_US,
        pl.format("'{}' is a time of {}, more than a year ahead", pl.lit(name), year),
    )


def count_repeated(rows: pl.DataFrame, name: str | None, time_zone: str) -> int:
    """Count the times without an offset that the clocks of a zone show twice."""
    if name is None or time_zone == "UTC":
        return 0
    local = _local(name, rows.schema[name])
    is_repeated = _in_zone(local, time_zone) != _in_zone(local, time_zone, which="latest")
    return int(rows.select(is_repeated.sum()).item())


def _column(name: str, kind: pl.DataType) -> pl.Expr:
    return pl.when(is_in_calendar(name, kind)).then(pl.col(name))


def _absolute(name: str, kind: pl.DataType) -> pl.Expr:
    """Build the times that have an offset, or are numbers."""
    column = _column(name, kind)
    if kind == pl.String:
        text = _text(name)
        with_offset = text.str.replace(r"\s?[zZ]$", "+00:00")
        aware = [
            with_offset.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False).dt.epoch("us")
            for form in _OFFSET_FORMATS
        ]
        number = text.str.extract(_NUMBER)
        whole = number.str.extract(r"^(\d+)").cast(pl.Int64, strict=False)
        return (
            pl.when(text.str.contains(_OFFSET))
            .then(pl.coalesce(aware))
            .otherwise(_of_numbers(number.cast(pl.Float64), whole))
        )
    if kind.is_numeric():
        return _of_numbers(column.cast(pl.Float64), column.cast(pl.Int64, strict=False))
    if isinstance(kind, pl.Datetime) and kind.time_zone:
        return column.dt.epoch("us")
    return pl.lit(None, pl.Int64)


def _of_numbers(numbers: pl.Expr, whole: pl.Expr) -> pl.Expr:
    # Only seconds are written with a fraction; a double has the microseconds of this century.
    seconds = (numbers * 1_000_000).round().cast(pl.Int64, strict=False)
    return (
        # Any other number would not fit into the result.
        pl.when(whole < 0)
        .then(pl.lit(0, pl.Int64))
        .when(whole < _SECONDS_END)
        .then(seconds)
        .when(whole < _SECONDS_END * 1_000)
        .then(whole * 1_000)
        .when(whole < _SECONDS_END * 1_000_000)
        .then(whole)
        .otherwise(whole // 1_000)
    )


def _local(name: str, kind: pl.DataType) -> pl.Expr:
    """Build the times that have no offset, as they are written."""
    if kind == pl.String:
        text = _text(name)
        formats = [text.str.to_datetime(form, time_unit="us", strict=False) for form in _LOCAL_FORMATS]
        return pl.when(~text.str.contains(_OFFSET)).then(pl.coalesce(formats))
    if kind == pl.Date or (isinstance(kind, pl.Datetime) and not kind.time_zone):
        return _column(name, kind).cast(pl.Datetime("us"))
    return pl.lit(None, pl.Datetime("us"))


def _text(name: str) -> pl.Expr:
    """Write dates and times of texts as ISO 8601 does, with a space between them."""
    text = pl.col(name).str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d)[tT]", "$1 ")
    return text.map_batches(_with_iso_dates, return_dtype=pl.String)


def _with_iso_dates(texts: pl.Series) -> pl.Series:
    # Nearly every column has one form; that of ISO 8601 needs no other to be tried.
    if texts.str.contains(r"^\d{4}-\d\d-\d\d(?: \d\d:|$)").all():
        return texts
    for form, iso in _DATE_FORMS:
        texts = texts.str.replace(form, iso)
    return texts


def _in_zone(times: pl.Expr, time_zone: str, *, which: str = "earliest") -> pl.Expr:
    if time_zone == "UTC":
        return times.dt.epoch("us")
    return times.dt.replace_time_zone(time_zone, ambiguous=pl.lit(which), non_existent="null").dt.epoch("us")
