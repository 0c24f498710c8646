"""Times of imported rows: texts, dates and times of any zone, as microseconds since 1970 in UTC."""

from typing import Final

import polars as pl

EXAMPLE: Final = "2026-01-31 12:00:00"
_OFFSET: Final = r"\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:[zZ]|[+-]\d\d(?::?\d\d)?)$"
# Days since 1970 of 0001-01-01 and of the one after 9999-12-31: the calendar of Python.
_FIRST_DAY: Final = -719_162
_END_DAY: Final = 2_932_897
_DAY_IN: Final = {"ms": 86_400_000, "us": 86_400_000_000}
_LOCAL_FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_OFFSET_FORMATS: Final = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")


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
    skip none. Whole numbers are milliseconds since 1970.
    """
    column = pl.when(is_in_calendar(name, kind)).then(pl.col(name))
    if kind == pl.String:
        return _of_texts(column, time_zone)
    if kind.is_integer():
        return column.cast(pl.Int64) * 1000
    if kind == pl.Date:
        return _local(column.cast(pl.Datetime("us")), time_zone)
    if isinstance(kind, pl.Datetime):
        return column.dt.epoch("us") if kind.time_zone else _local(column.cast(pl.Datetime("us")), time_zone)
    return pl.lit(None, pl.Int64).alias(name)


def _local(times: pl.Expr, time_zone: str) -> pl.Expr:
    if time_zone == "UTC":
        return times.dt.epoch("us")
    return times.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null").dt.epoch("us")


def _of_texts(column: pl.Expr, time_zone: str) -> pl.Expr:
    text = column.str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d)[tT]", "$1 ")
    has_offset = text.str.contains(_OFFSET)
    with_offset = text.str.replace(r"\s?[zZ]$", "+00:00")
    aware = [
        with_offset.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False)
        for form in _OFFSET_FORMATS
    ]
    local = [text.str.to_datetime(form, time_unit="us", strict=False) for form in _LOCAL_FORMATS]
    # Texts such as 31/01/2026, by the form of the first of them.
    others = column.str.strip_chars().str.to_datetime(time_unit="us", strict=False)
    return (
        pl.when(has_offset)
        .then(pl.coalesce(aware).dt.epoch("us"))
        .otherwise(_local(pl.coalesce(*local, others), time_zone))
    )
