"""Plots over days: lines, bands and bars as shapes, in percent of the plot's width and height."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor
from typing import Final

from api.dashboard.results_page.chart_notes import Note
from engine.stats.value_bins import nice_step

_MOST_TICKS: Final = 6
_DAYS_SHOWN: Final = 7
_ALONE: Final = 1.5


@dataclass(frozen=True, slots=True)
class Scale:
    """The ends of the axis of values, and how its numbers are written."""

    low: float
    high: float
    write: Callable[[float], str]

    def at(self, value: float) -> float:
        """Return the place of a value in percent from the top; beyond the ends at the end."""
        inside = min(max(value, self.low), self.high)
        return round(100 * (self.high - inside) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[str, float, bool]]:
        """The numbers of the axis with their places, and whether each is zero."""
        step = nice_step((self.high - self.low) / _MOST_TICKS)
        values = (place * step for place in range(ceil(self.low / step), floor(self.high / step) + 1))
        return [(self.write(value), self.at(value), abs(value) < step / 2) for value in values]


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a plot, from edge to edge, or each in the middle of a place of its own."""

    first: date
    last: date
    have_places: bool = False

    @property
    def number(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1

    def at(self, day: date) -> float:
        """Return the place of a day in percent from the left."""
        before = (min(max(day, self.first), self.last) - self.first).days
        if self.have_places or self.number == 1:
            return round(100 * (before + 0.5) / self.number, 2)
        return round(100 * before / (self.number - 1), 2)

    @property
    def width(self) -> float:
        """The width of a day in percent."""
        return round(100 / (self.number if self.have_places else max(self.number - 1, 1)), 3)

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Some days with their places, evenly apart."""
        step = max(1, ceil(self.number / _DAYS_SHOWN))
        days = (date.fromordinal(self.first.toordinal() + place) for place in range(0, self.number, step))
        return [(day_words(day), self.at(day)) for day in days]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with its name, and the class that colours it."""

    name: str
    look: str
    points: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The numbers of a day in words, at its place."""

    at: float
    width: float
    text: str
    height: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot with all that it shows; `end` is the last point: its place from left and top, and its words."""

    summary: str
    days: Days
    scale: Scale
    bands: tuple[Line, ...] = ()
    lines: tuple[Line, ...] = ()
    readings: tuple[Reading, ...]
    zone: tuple[float, float] | None = None
    end: tuple[float, float, str, str] | None = None
    notes: tuple[Note, ...] = ()
    looks: tuple[date, ...] = ()

    @property
    def pauses(self) -> list[tuple[float, float]]:
        """Places and widths of the pauses."""
        found = ((self.days.at(one.day), self.days.at(one.until)) for one in self.notes if one.until)
        return [(start, round(end - start, 2)) for start, end in found]


def readings_of(days: Days, texts: Iterable[tuple[date, str]]) -> tuple[Reading, ...]:
    """Put the numbers of each day over its part of the plot."""
    return tuple(
        Reading(at=_left(days, day), width=days.width, text=f"{day_words(day)}: {text}")
        for day, text in texts
    )


def bars_of(days: Days, scale: Scale, bars: Iterable[tuple[date, float, str]]) -> tuple[Reading, ...]:
    """Draw a bar of each day's number, with its words."""
    return tuple(
        Reading(
            at=_left(days, day),
            width=days.width,
            text=f"{day_words(day)}: {text}",
            height=round(100 - scale.at(number), 2),
        )
        for day, number, text in bars
    )


def points_of(days: Days, scale: Scale, values: Iterable[tuple[date, float]]) -> str:
    """Write the points of a line; a day alone is drawn with some width, or nothing would be seen of it."""
    sides = (-_ALONE, _ALONE) if days.number == 1 else (0.0,)
    return " ".join(f"{days.at(day) + side:g},{scale.at(value):g}" for day, value in values for side in sides)


def band_of(days: Days, scale: Scale, spans: Sequence[tuple[date, float, float]]) -> str:
    """Write the outline of a band: its upper ends forth, and its lower ends back."""
    upper = points_of(days, scale, ((day, high) for day, _, high in spans)).split()
    lower = points_of(days, scale, ((day, low) for day, low, _ in spans)).split()
    return " ".join((*upper, *reversed(lower)))


def day_words(day: date) -> str:
    """Write a day as axes do: 6 Nov."""
    return f"{day.day} {day:%b}"


def _left(days: Days, day: date) -> float:
    return round(days.at(day) - days.width / 2, 3)
