"""Segments as a forest: by dimension, those first that differ the most, none of them a verdict."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.dashboard.interval_bar import Axis, IntervalBar, axis_of
from engine.analysis.results.segment_report import GoalSegments, SegmentReport, SegmentVariant

# Smaller values of a dimension, and further dimensions, are left out or folded.
MOST_VALUES: Final = 12
OPEN_DIMENSIONS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """A segment with its pooled change; without a bar it has none."""

    value: str
    result: SegmentVariant
    bar: IntervalBar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentGroup:
    """The segments of a dimension, how many are left out, and its smallest p value against the rest."""

    dimension: str
    rows: tuple[SegmentRow, ...]
    left_out: int
    p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentForest:
    """The segments of the primary goal, with the axis of their bars and the level of their intervals."""

    summary: str
    axis: Axis
    level: float | None
    groups: tuple[SegmentGroup, ...]

    @property
    def shown(self) -> tuple[SegmentGroup, ...]:
        """The dimensions that differ the most."""
        return self.groups[:OPEN_DIMENSIONS]

    @property
    def folded(self) -> tuple[SegmentGroup, ...]:
        """All other dimensions."""
        return self.groups[OPEN_DIMENSIONS:]


def segment_forest(report: SegmentReport, *, variant_id: str | None, margin: float) -> SegmentForest | None:
    """Arrange the segments of the goal that is reported, for one variant; None where there are none."""
    if not report.goals or not (found := _by_dimension(report.goals[0], variant_id)):
        return None
    intervals = [one.shrunk_interval for rows in found.values() for _, one in rows]
    axis = axis_of(intervals)
    groups = [_group(dimension, rows, axis, margin) for dimension, rows in found.items()]
    return SegmentForest(
        summary=report.goals[0].summary,
        axis=axis,
        level=next((one.level for one in intervals if one is not None), None),
        groups=tuple(sorted(groups, key=lambda one: 1.0 if one.p_value is None else one.p_value)),
    )


def _by_dimension(goal: GoalSegments, variant_id: str | None) -> dict[str, list[tuple[str, SegmentVariant]]]:
    found: dict[str, list[tuple[str, SegmentVariant]]] = {}
    for segment in goal.segments:
        arm = next((one for one in segment.variants if one.variant_id == variant_id), None)
        if arm is not None:
            found.setdefault(segment.dimension, []).append((segment.value, arm))
    return found


def _group(
    dimension: str, rows: Sequence[tuple[str, SegmentVariant]], axis: Axis, margin: float
) -> SegmentGroup:
    largest = sorted(rows, key=lambda one: -one[1].visitors)[:MOST_VALUES]
    return SegmentGroup(
        dimension=dimension,
        rows=tuple(_rows(largest, axis, margin)),
        left_out=len(rows) - len(largest),
        p_value=min(_p_values(rows), default=None),
    )


def _rows(rows: Iterable[tuple[str, SegmentVariant]], axis: Axis, margin: float) -> Iterator[SegmentRow]:
    """Yield the rows by their change, those without one last."""
    for value, arm in sorted(rows, key=lambda one: -(one[1].shrunk_improvement or float("-inf"))):
        point = arm.shrunk_improvement
        bar = None
        if point is not None:
            bar = IntervalBar(point=point, interval=arm.shrunk_interval, axis=axis.limit, margin=margin)
        yield SegmentRow(value=value, result=arm, bar=bar)


def _p_values(rows: Iterable[tuple[str, SegmentVariant]]) -> Iterator[float]:
    for _, arm in rows:
        if arm.adjusted_p_value_vs_rest is not None:
            yield arm.adjusted_p_value_vs_rest
