"""Local calendar days, and conversions of times since 1970."""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.errors import EngineError
from engine.stats.arrays import BoolArray, IntArray
from engine.time_zones import zone

DayArray = npt.NDArray[np.int32]

_SECOND = timedelta(seconds=1)
_MICROSECOND = timedelta(microseconds=1)
_DAY_SECONDS = 86_400
_SECOND_MICROSECONDS = 1_000_000
# A bounded calendar keeps one absurd moment from a search through millennia of rules.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OutsideCalendarError(EngineError, ValueError):
    """A moment before the year 1900 or after 2199: it cannot have been observed."""


def local_days(timestamps_us: npt.ArrayLike, timezone: str) -> DayArray:
    """Convert moments to local days since 1970-01-01.

    `timestamps_us` are microseconds since the epoch in UTC, of any shape; the days have the same shape.
    Raises UnknownTimezoneError, and OutsideCalendarError for a moment before EARLIEST or from LATEST on.
    """
    moments = np.asarray(timestamps_us, np.int64)
    zone(timezone)
    if moments.size == 0:
        return moments.astype(np.int32)
    first, last = (int(edge) // _SECOND_MICROSECONDS for edge in (moments.min(), moments.max()))
    if first < EARLIEST.timestamp() or last >= LATEST.timestamp():
        raise OutsideCalendarError("moments must lie within the years 1900 to 2199; are they microseconds?")
    starts, offsets = _offsets_between(timezone, _year(first), _year(last))
    within = slice(*(np.searchsorted(starts, [first, last], side="right") - [1, 0]))
    starts, offsets = starts[within] * _SECOND_MICROSECONDS, offsets[within] * _SECOND_MICROSECONDS
    # Most zones have one offset in the time of a test.
    current = offsets[np.searchsorted(starts, moments, side="right") - 1] if len(offsets) > 1 else offsets[0]
    days: DayArray = ((moments + current) // (_DAY_SECONDS * _SECOND_MICROSECONDS)).astype(np.int32)
    return days


def utc_offsets(first_us: int, last_us: int, timezone: str) -> list[tuple[int, int]]:
    """List the offsets of a zone from one moment to another: the start of each, and the offset itself.

    All are microseconds. The first holds at `first_us`, whenever it began. Raises as `local_days` does.
    """
    local_days([first_us, last_us], timezone)
    first, last = first_us // _SECOND_MICROSECONDS, last_us // _SECOND_MICROSECONDS
    starts, offsets = _offsets_between(timezone, _year(first), _year(last))
    found: list[tuple[int, int]] = []
    for start, offset in zip(starts.tolist(), offsets.tolist(), strict=True):
        if start <= first:
            found = [(start, offset)]
        elif start <= last and offset != found[-1][1]:
            found.append((start, offset))
    return [(start * _SECOND_MICROSECONDS, offset * _SECOND_MICROSECONDS) for start, offset in found]


def read_day(text: str) -> date:
    """Parse a day in the one form 2026-11-20; raises ValueError."""
    day = date.fromisoformat(text)
    # Other forms, such as those of weeks, name days as well.
    if day.isoformat() != text:
        raise ValueError(text)
    return day


def local_day_starts(first_us: int, last_us: int, timezone: str) -> tuple[list[int], list[int]]:
    """List the starts of the local days from one moment to another, and the days since 1970-01-01.

    Moments are microseconds since the epoch in UTC; the first start is `first_us`. A moment has the day of
    the last start that is not after it. A day that the clock is set back into starts twice. Raises as
    `local_days` does.
    """
    edges = np.array([first_us, last_us], np.int64)
    local_days(edges, timezone)
    first, last = (edges // _SECOND_MICROSECONDS).tolist()
    changes, offsets = _offsets_between(timezone, _year(first), _year(last))
    # A day begins at a midnight by one of the offsets, or at a change of the offset.
    moments = {first, *(change for change in changes.tolist() if first < change <= last)}
    for offset in set(offsets.tolist()):
        days = range((first + offset) // _DAY_SECONDS + 1, (last + offset) // _DAY_SECONDS + 1)
        moments.update(day * _DAY_SECONDS - offset for day in days)
    ordered = np.array(sorted(moments), np.int64) * _SECOND_MICROSECONDS
    found = local_days(ordered, timezone)
    is_new = np.append(True, found[1:] != found[:-1])
    starts = ordered[is_new].tolist()
    return [first_us, *starts[1:]], found[is_new].tolist()


def _year(seconds: int) -> int:
    return (EPOCH + timedelta(seconds=seconds)).year


@lru_cache(maxsize=256)
def _offsets_between(timezone: str, first: int, last: int) -> tuple[IntArray, IntArray]:
    """Starts and offsets of a zone over whole years, both in seconds."""
    parts = [part for year in range(first, last + 1) for part in _offsets_of_year(timezone, year)]
    starts, offsets = zip(*parts, strict=True)
    return np.array(starts, np.int64), np.array(offsets, np.int64)


@lru_cache(maxsize=4096)
def _offsets_of_year(timezone: str, year: int) -> tuple[tuple[int, int], ...]:
    """Find the changes of a year: compare the days' offsets, and halve the day in which they differ."""
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    found = [(_seconds(start), _offset(timezone, start))]
    while start < end:
        following = start + timedelta(days=1)
        if _offset(timezone, following) != _offset(timezone, start):
            change = _change_between(timezone, start, following)
            found.append((_seconds(change), _offset(timezone, change)))
        start = following
    return tuple(found)


def _change_between(timezone: str, before: datetime, after: datetime) -> datetime:
    while after - before > _SECOND:
        middle = before + ((after - before) // (2 * _SECOND)) * _SECOND
        if _offset(timezone, middle) == _offset(timezone, before):
            before = middle
        else:
            after = middle
    return after


def _seconds(moment: datetime) -> int:
    return (moment - EPOCH) // _SECOND


def _offset(timezone: str, moment: datetime) -> int:
    offset = moment.astimezone(zone(timezone)).utcoffset()
    return 0 if offset is None else offset // _SECOND


def local_day(moment: datetime, timezone: str) -> date:
    """Convert an aware moment to its calendar day in a zone."""
    return moment.astimezone(zone(timezone)).date()


def are_weekends(days: npt.ArrayLike) -> BoolArray:
    """Flag days since 1970-01-01 that are Saturdays or Sundays, elementwise."""
    # 1970-01-01 was a Thursday, the fourth day of a week that begins on Monday.
    weekend: BoolArray = (np.asarray(days, np.int64) + 3) % 7 >= 5
    return weekend


def epoch_microseconds(moment: datetime) -> int:
    """Convert an aware moment to microseconds since 1970 in UTC, exactly."""
    return (moment - EPOCH) // _MICROSECOND


def from_epoch_microseconds(microseconds: int) -> datetime:
    """Convert microseconds since 1970 to a moment in UTC."""
    return EPOCH + microseconds * _MICROSECOND


def epoch_days(day: date) -> int:
    """Convert a date to days since 1970-01-01."""
    return (day - EPOCH.date()).days


def from_epoch_days(days: int) -> date:
    """Convert days since 1970-01-01 to a date."""
    return EPOCH.date() + timedelta(days=days)
