"""Chart of a segment report: observed and shrunk change of every segment."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.analysis.results.formatting import share
from engine.analysis.results.segment_report import GoalSegments, SegmentReport
from engine.analysis.results.status_words import STATUS_WORDS
from engine.charts.altair_module import load_altair
from engine.charts.forest import SIGNED_PERCENT
from engine.charts.report import goal_of
from engine.charts.status_legend import legend_of
from engine.charts.themes import Theme, config_of

if TYPE_CHECKING:
    from altair import FacetChart

__all__ = ["chart_segment_report"]

_WIDTH = 460
_ROW_HEIGHT = 26
# A dimension with more values is not readable.
MOST_VALUES = 30


def chart_segment_report(
    report: SegmentReport,
    goal_id: str | None = None,
    *,
    most_values: int = MOST_VALUES,
    theme: Theme = "light",
) -> "FacetChart":
    """Chart each segment's shrunk change with its interval, and the observed change as a ring.

    A row of panels by dimension and a column by variant, of the primary goal unless another is named. A
    dimension shows its `most_values` largest segments; those without enough data are not drawn. Raises
    ValueError for a goal that the report does not have.
    """
    alt = load_altair()
    goal = goal_of(report.goals, goal_id)
    rows = list(_rows(goal, most_values))
    words, colours, shapes = legend_of(row["status"] for row in rows)
    level = share(1.0 - report.false_discovery_rate)
    drawn = [row | {"status": STATUS_WORDS[row["status"]].label} for row in rows]
    base = alt.Chart().encode(
        y=alt.Y("value:N", title=None, sort=None).axis(grid=False, ticks=False, domain=False),
        color=alt.Color("status:N", title=None)
        .scale(domain=words, range=colours)
        .legend(orient="bottom", direction="horizontal"),
    )
    percent = {"format": "+.1~%"}
    x = alt.X("low:Q", title="change against the control").axis(labelExpr=SIGNED_PERCENT, labelOverlap=True)
    bars = base.mark_rule(strokeWidth=3, opacity=0.8).encode(x=x, x2="high:Q")
    numbers = ("observed", "shrunk", "low", "high")
    tooltip = [
        *(f"{name}:N" for name in ("value", "status")),
        *(alt.Tooltip(f"{name}:Q", **percent) for name in numbers),
        alt.Tooltip("visitors:Q", format=","),
    ]
    shrunk = base.mark_point(filled=True, size=80, opacity=1).encode(
        x="shrunk:Q",
        shape=alt.Shape("status:N", title=None).scale(domain=words, range=shapes),
        tooltip=tooltip,
    )
    observed = base.mark_point(filled=False, size=55, opacity=0.9).encode(x="observed:Q", tooltip=tooltip)
    zero = alt.Chart().mark_rule(strokeDash=[4, 3], strokeWidth=1).encode(x=alt.datum(0))
    heading = alt.Title(
        f"{goal.goal.name}: change by segment",
        subtitle=f"exploratory · {level} interval · ring: as observed, filled: pooled with other segments",
    )
    chart: FacetChart = (
        alt.layer(bars, observed, shrunk, zero, data=alt.Data(values=drawn))
        .properties(width=_WIDTH, height=alt.Step(_ROW_HEIGHT))
        .facet(
            row=alt.Row("dimension:N", title=None, sort=None).header(
                labelAngle=0, labelOrient="top", labelAnchor="start"
            ),
            column=alt.Column("variant:N", title=None, sort=None),
            title=heading,
        )
        .resolve_scale(y="independent")
        .configure(**config_of(theme))
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
