"""Forest plot of a report: every variant's change with its interval, the primary goal first."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.analysis.results.formatting import interval_text, listed, share, signed
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import Interval, VariantResult
from engine.charts.altair_module import load_altair
from engine.charts.status_legend import legend_of
from engine.charts.themes import Theme, config_of

if TYPE_CHECKING:
    from altair import FacetChart

__all__ = ["chart_improvements"]

# 0 has no sign; other changes do.
SIGNED_PERCENT = "abs(datum.value) < 1e-9 ? '0%' : format(datum.value, '+.2~%')"
_WIDTH = 460
_ROW_HEIGHT = 30


def chart_improvements(report: Report, goal_id: str | None = None, *, theme: Theme = "light") -> "FacetChart":
    """Chart every variant's change against the control with its interval, a panel a goal.

    The primary goal is first; `goal_id` draws that goal alone. A variant without a change has no mark; an
    infinite end of an interval is drawn to the edge. Raises ValueError for a goal that the report does not
    have.
    """
    goals = sorted(report.goals, key=lambda one: not one.goal.is_primary)
    if goal_id is not None:
        goals = [one for one in goals if one.goal.id == goal_id]
        if not goals:
            raise ValueError(
                f"the report has no goal {goal_id!r}; it has {[one.goal.id for one in report.goals]}"
            )
    names = _panel_names(goals)
    rows = [
        _row(report, goal, variant, names[goal.goal.id])
        for goal in goals
        for variant in goal.variants
        if variant.improvement is not None
    ]
    # Vega gives a chart without a panel an infinite size, which browsers refuse to draw.
    unmarked = [
        {"goal": names[goal.goal.id], "variant": variant.variant_name}
        for goal in goals
        for variant in goal.variants
        if not variant.is_control
    ]
    title = f"{report.experiment.name}: change against the control"
    return _draw(rows, title, theme, unmarked=[] if rows else unmarked)


def _panel_names(goals: Sequence[GoalReport]) -> dict[str, str]:
    """Name the panels: goals of one name are told apart by their ids."""
    counts = Counter(one.goal.name for one in goals)
    return {
        one.goal.id: one.goal.name if counts[one.goal.name] == 1 else f"{one.goal.name} ({one.goal.id})"
        for one in goals
    }


def _row(report: Report, goal: GoalReport, variant: VariantResult, panel: str) -> dict[str, Any]:
    interval = variant.improvement_interval
    return {
        "goal": panel,
        "variant": variant.variant_name,
        "improvement": variant.improvement,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "status": row_status(report, goal, variant),
        "visitors": variant.visitors,
        "label": change_text(variant.improvement, interval),
        "level": interval and interval.level,
    }


def change_text(improvement: float | None, interval: Interval | None) -> str:
    """Format a change with its interval: `+3.2% (+1% to +7.5%)`; empty where there is none."""
    if improvement is None:
        return ""
    bounds = f" ({interval_text(interval)})" if interval else ""
    return signed(improvement) + bounds


def change_domain_of(rows: Sequence[dict[str, Any]]) -> list[float]:
    """Return the ends of the axis: 0 is inside it, away from both edges."""
    ends = [row[name] for row in rows for name in ("low", "high", "improvement") if row[name] is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    margin = 0.06 * ((high - low) or 0.1)
    return [low - margin, high + margin]


def _draw(
    rows: list[dict[str, Any]], title: str, theme: Theme, *, unmarked: list[dict[str, str]]
) -> "FacetChart":
    alt = load_altair()
    domain = change_domain_of(rows)
    words, colours, shapes = legend_of(row["status"] for row in rows)
    drawn = [
        row
        | {
            "status": STATUS_WORDS[row["status"]].label,
            "from": domain[0] if row["low"] is None else row["low"],
            "to": domain[1] if row["high"] is None else row["high"],
            "has_interval": row["level"] is not None,
        }
        for row in rows
    ]
    levels = listed([share(level) for level in sorted({row["level"] for row in rows if row["level"]})])
    extent = f"{levels} interval" if levels else "no interval yet"
    heading = alt.Title(title, subtitle=extent if rows else "no variant can be compared yet")
    base = alt.Chart().encode(
        y=alt.Y("variant:N", title=None, sort=None).axis(grid=False, ticks=False, domain=False),
        color=alt.Color("status:N", title=None)
        .scale(domain=words, range=colours)
        .legend(alt.Legend(orient="bottom", direction="horizontal") if rows else None),
    )
    x = (
        alt.X("improvement:Q", title="change against the control")
        .scale(domain=domain, nice=False)
        .axis(labelExpr=SIGNED_PERCENT, tickCount=6, labelOverlap=True)
    )
    bars = base.transform_filter("datum.has_interval").mark_rule(strokeWidth=3).encode(x="from:Q", x2="to:Q")
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        shape=alt.Shape("status:N", title=None, **({} if rows else {"legend": None})).scale(
            domain=words, range=shapes
        ),
        tooltip=[
            "variant:N",
            alt.Tooltip("label:N", title="change"),
            "status:N",
            alt.Tooltip("visitors:Q", format=","),
        ],
    )
    numbers = (
        alt.Chart()
        .mark_text(align="left", baseline="middle")
        .encode(y=alt.Y("variant:N", sort=None), x=alt.value(_WIDTH + 12), text="label:N")
    )
    zero = alt.Chart().mark_rule(strokeDash=[4, 3], strokeWidth=1).encode(x=alt.datum(0))
    chart: FacetChart = (
        alt.layer(bars, dots, zero, numbers, data=alt.Data(values=drawn + unmarked))
        .properties(width=_WIDTH, height=alt.Step(_ROW_HEIGHT))
        .facet(
            facet=alt.Facet(
                "goal:N", title=None, sort=list(dict.fromkeys(row["goal"] for row in drawn + unmarked))
            ).header(labelAnchor="start", labelOrient="top"),
            columns=1,
            title=heading,
            spacing=14,
        )
        .resolve_scale(y="independent")
        .configure(**config_of(theme))
    )
    return chart
