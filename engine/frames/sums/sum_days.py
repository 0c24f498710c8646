"""Days of a table of sums."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Self

import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.local_days import epoch_days
from engine.time_zones import zone

# Days from the first to the last, of which a table may leave some out.
_MOST_DAYS: Final = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class SumDays:
    """Local day of each row of a table of sums, in days since 1970-01-01, and the time from first to last.

    `first` is the start of the first day and `last` the end of the last.
    """

    by_row: pl.Series
    span: range
    first: datetime
    last: datetime

    @classmethod
    def of(cls, table: pl.DataFrame, name: str, timezone: str) -> Self:
        """Read a column of dates, or of text such as 2026-03-01; InvalidEvidenceError for anything else."""
        column_errors.require_column(name, table.columns)
        column = table[name]
        if column.dtype == pl.String:
            column = column.str.strip_chars().str.to_date(strict=False)
        if not isinstance(column.dtype, pl.Date | pl.Datetime):
            raise column_errors.not_times(name, column.dtype)
        if missing := column.null_count():
            raise column_errors.missing_values(name, missing)
        days = column.cast(pl.Date)
        first, last = (_date(day) for day in (days.min(), days.max()))
        span = range(epoch_days(first), epoch_days(last) + 1)
        if len(span) > _MOST_DAYS:
            raise InvalidEvidenceError(
                f"{name!r} goes over {len(span):,} days; at most {_MOST_DAYS:,} are counted"
            )
        return cls(
            by_row=days.cast(pl.Int32).cast(pl.Int64),
            span=span,
            first=_midnight(first, timezone),
            last=_midnight(last + timedelta(days=1), timezone),
        )


def _date(day: object) -> date:
    if not isinstance(day, date):
        raise TypeError(f"{day!r} is no date")
    return day


def _midnight(day: date, timezone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone(timezone))
