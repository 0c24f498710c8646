"""Interval bars: a change with its intervals on an axis around zero, in percent of a drawing's width."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from engine.analysis.results.report import Tone
from engine.analysis.results.variant_result import Interval

# The ends of axes, as shares: the first that holds the widest interval, or the last.
AXIS_LIMITS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
# So much of the half of an axis is beyond its last number, which stands in the middle of its place.
_ROOM: Final = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBar:
    """A change as a share, with its interval at one look, and the one at every look where there is one.

    `axis` is the share at the last number of the axis; what lies beyond its room ends in an arrow.
    `margin` is too small to matter, on both sides, and `guardrail` the change at which harm begins.
    """

    point: float
    interval: Interval | None
    every_look: Interval | None = None
    axis: float
    margin: float | None = None
    guardrail: float | None = None
    tone: Tone = "neutral"

    def at(self, share: float) -> float:
        """Return the place of a change in percent of the width, inside of it."""
        return round(min(max(50 + 50 * share / (self.axis * _ROOM), 0), 100), 2)

    @property
    def place(self) -> float:
        """The place of the change itself."""
        return self.at(self.point)

    @property
    def thick(self) -> "Span | None":
        """The span of the interval at one look."""
        return self._span(self.interval)

    @property
    def thin(self) -> "Span | None":
        """The span of the interval at every look."""
        return self._span(self.every_look)

    @property
    def zone(self) -> "Span | None":
        """The span of changes that are too small to matter."""
        margin = self.margin
        return None if margin is None else Span(self.at(-margin), self.at(margin))

    def _span(self, interval: Interval | None) -> "Span | None":
        if interval is None:
            return None
        low, high = _bounds(interval)
        end = self.axis * _ROOM
        return Span(self.at(low), self.at(high), is_cut_low=low < -end, is_cut_high=high > end)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the width, in percent; cut where what it shows goes on beyond the drawing."""

    low: float
    high: float
    is_cut_low: bool = False
    is_cut_high: bool = False

    @property
    def width(self) -> float:
        """The width in percent."""
        return round(self.high - self.low, 2)


@dataclass(frozen=True, slots=True)
class Axis:
    """The numbers of an axis: each with its share and its place in percent of the width."""

    limit: float

    @property
    def numbers(self) -> Sequence[tuple[float, float]]:
        """The ends, their halves and zero, from low to high."""
        bar = IntervalBar(point=0.0, interval=None, axis=self.limit)
        return [(share, bar.at(share)) for share in (self.limit * part for part in (-1, -0.5, 0, 0.5, 1))]


def axis_of(intervals: Iterable[Interval | None]) -> Axis:
    """Choose the axis that all rows share: that of the widest interval, at most 50% to each side."""
    bounds = [abs(bound) for one in intervals if one is not None for bound in _bounds(one) if isfinite(bound)]
    widest = max(bounds, default=AXIS_LIMITS[-3]) / _ROOM
    return Axis(next((limit for limit in AXIS_LIMITS if limit >= widest), AXIS_LIMITS[-1]))


def _bounds(interval: Interval) -> tuple[float, float]:
    low = float("-inf") if interval.low is None else interval.low
    return low, float("inf") if interval.high is None else interval.high
