"""Chart of a segment report: observed and shrunk change of every segment."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.analysis.results.segment_report import GoalSegments, SegmentReport
from engine.charts.report import goal_of, load_altair

if TYPE_CHECKING:
    from altair import FacetChart

__all__ = ["chart_segment_report"]

SEGMENT_COLOURS = {
    "better": "#2a9d5c",
    "worse": "#d1495b",
    "differs": "#e09f3e",
    "inconclusive": "#5b7aa6",
}
_WIDTH = 460
_ROW_HEIGHT = 26
# A dimension with more values is not readable.
MOST_VALUES = 30


def chart_segment_report(
    report: SegmentReport, goal_id: str | None = None, *, most_values: int = MOST_VALUES
) -> "FacetChart":
    """Chart each segment's shrunk change with its interval, and the observed change as a ring.

    A row of panels by dimension and a column by variant, of the primary goal unless another is named. A
    dimension shows its `most_values` largest segments; those without enough data are not drawn. Raises
    ValueError for a goal that the report does not have.
    """
    alt = load_altair()
    goal = goal_of(report.goals, goal_id)
    rows = list(_rows(goal, most_values))
    scale = alt.Scale(domain=list(SEGMENT_COLOURS), range=list(SEGMENT_COLOURS.values()))
    base = alt.Chart().encode(
        y=alt.Y("value:N", title=None, sort=None), color=alt.Color("status:N", scale=scale, title="status")
    )
    percent = {"format": "+.1~%"}
    bars = base.mark_rule(strokeWidth=3, opacity=0.8).encode(
        x=alt.X("low:Q", title="change").axis(**percent), x2="high:Q"
    )
    numbers = ("observed", "shrunk", "low", "high")
    tooltip = [
        *(f"{name}:N" for name in ("value", "status")),
        *(alt.Tooltip(f"{name}:Q", **percent) for name in numbers),
        alt.Tooltip("visitors:Q", format=","),
    ]
    shrunk = base.mark_point(filled=True, size=90, opacity=1).encode(x="shrunk:Q", tooltip=tooltip)
    observed = base.mark_point(filled=False, size=60, opacity=0.9).encode(x="observed:Q", tooltip=tooltip)
    nothing = alt.Chart().mark_rule(strokeDash=[4, 4], color="#888").encode(x=alt.datum(0))
    chart: FacetChart = (
        alt.layer(nothing, bars, observed, shrunk, data=alt.Data(values=rows))
        .properties(width=_WIDTH, height=alt.Step(_ROW_HEIGHT))
        .facet(
            row=alt.Row("dimension:N", title=None, sort=None),
            column=alt.Column("variant:N", title=None, sort=None),
            title=f"{goal.goal.name}: change by segment (ring: observed, dot: shrunk)",
        )
        .resolve_scale(y="independent")
    )
    return chart


def _rows(goal: GoalSegments, most_values: int) -> Iterator[dict[str, Any]]:
    """Yield a row per segment and variant with a shrunk change, the largest of a dimension first."""
    drawn: dict[str, int] = {}
    by_size = sorted(
        goal.segments, key=lambda one: (one.dimension, -sum(arm.visitors for arm in one.variants))
    )
    for segment in by_size:
        known = [arm for arm in segment.variants if arm.shrunk_improvement is not None]
        if not known or drawn.get(segment.dimension, 0) >= most_values:
            continue
        drawn[segment.dimension] = drawn.get(segment.dimension, 0) + 1
        for arm in known:
            interval = arm.shrunk_interval
            yield {
                "dimension": segment.dimension,
                "value": segment.value,
                "variant": arm.variant_name,
                "observed": arm.improvement,
                "shrunk": arm.shrunk_improvement,
                "low": interval and interval.low,
                "high": interval and interval.high,
                "status": arm.status,
                "visitors": arm.visitors,
            }
