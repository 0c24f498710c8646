"""Table of goals as a chart: each variant's metric, change with its interval, p value and result in a row."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.analysis.results.formatting import chance, metric_text, p_text
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.goal_order import important_first
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import VariantResult
from engine.charts.altair_module import load_altair
from engine.charts.forest import SIGNED_PERCENT, change_domain_of, change_text
from engine.charts.status_legend import legend_of
from engine.charts.themes import Theme, config_of

if TYPE_CHECKING:
    from altair import HConcatChart

__all__ = ["MOST_ROWS", "chart_goals"]

MOST_ROWS: Final = 60
_ROW_HEIGHT: Final = 24
_BARS_WIDTH: Final = 200
# Columns of text before and after the bars, with their headings and widths.
_BEFORE: Final = {
    "goal": ("Goal", 250),
    "variant": ("Variant", 150),
    "control": ("Control", 100),
    "value": ("Value", 100),
}
_AFTER: Final = {"change": ("Change", 240), "evidence": ("Evidence", 100), "result": ("Result", 110)}
_GAP: Final = 8


def chart_goals(report: Report, *, most_rows: int = MOST_ROWS, theme: Theme = "light") -> "HConcatChart":
    """Chart every goal and variant as a table with interval bars on one axis, the primary goal first.

    Guardrails follow, and goals with a decided variant; rows beyond `most_rows` are counted in the subtitle.
    The evidence is the p value, or the chance to beat the control of a Bayesian test.
    """
    alt = load_altair()
    rows = [
        _row(report, goal, variant)
        for goal in important_first(report)
        for variant in goal.variants
        if not variant.is_control
    ]
    shown = [row | {"row": place} for place, row in enumerate(rows[:most_rows], 1)]
    # The headings are row 0.
    place = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(shown) + 1))))
    height = _ROW_HEIGHT * (len(shown) + 1)
    parts = (_texts(_BEFORE, shown, place), _bars(shown, place), _texts(_AFTER, shown, place))
    left_out = len(rows) - len(shown)
    chart: HConcatChart = (
        alt.hconcat(*(part.properties(height=height) for part in parts), spacing=10)
        .properties(
            title=alt.Title(
                f"{report.experiment.name}: goals", subtitle=f"and {left_out} more rows" if left_out else ""
            )
        )
        .configure(**config_of(theme))
    )
    return chart


def _texts(columns: Mapping[str, tuple[str, int]], rows: list[dict[str, Any]], place: Any) -> Any:  # noqa: ANN401  # of Altair
    """Draw columns of text beside each other, under their headings."""
    alt = load_altair()
    cells, left = [], 0
    heads = alt.Data(values=[{"row": 0, **{name: heading for name, (heading, _) in columns.items()}}])
    for name, (_, width) in columns.items():
        text = {"y": place, "x": alt.value(left), "text": f"{name}:N"}
        cells.append(alt.Chart().mark_text(align="left", limit=width - _GAP).encode(**text))
        cells.append(alt.Chart(heads).mark_text(align="left", fontWeight="bold").encode(**text))
        left += width
    return alt.layer(*cells, data=alt.Data(values=rows)).properties(width=left)


def _bars(rows: list[dict[str, Any]], place: Any) -> Any:  # noqa: ANN401  # of Altair
    """Draw the intervals on one axis; an infinite end is drawn to the edge."""
    alt = load_altair()
    low, high = change_domain_of(rows)
    words, colours, _ = legend_of(row["status"] for row in rows)
    ends = [
        {
            "row": row["row"],
            "improvement": row["improvement"],
            "from": low if row["low"] is None else row["low"],
            "to": high if row["high"] is None else row["high"],
            "result": row["result"],
        }
        for row in rows
        if row["improvement"] is not None
    ]
    x = alt.X("from:Q", title=None).scale(domain=[low, high], nice=False)
    x = x.axis(labelExpr=SIGNED_PERCENT, tickCount=3, labelOverlap=True, grid=False)
    colour = alt.Color("result:N", title=None, legend=None).scale(domain=words, range=colours)
    base = alt.Chart().encode(y=place, color=colour)
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0))
    return alt.layer(
        base.mark_rule(strokeWidth=3).encode(x=x, x2="to:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(x="improvement:Q"),
        zero,
        data=alt.Data(values=ends),
    ).properties(width=_BARS_WIDTH)


def _row(report: Report, goal: GoalReport, variant: VariantResult) -> dict[str, Any]:
    interval = variant.improvement_interval
    control = next((one for one in goal.variants if one.is_control), None)
    status = row_status(report, goal, variant)
    kind = " (primary)" if goal.goal.is_primary else " (guardrail)" if goal.goal.is_guardrail else ""
    return {
        "goal": f"{goal.goal.name}{kind}",
        "variant": variant.variant_name,
        "control": "" if control is None else metric_text(control),
        "value": metric_text(variant),
        "improvement": variant.improvement,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "change": change_text(variant.improvement, interval),
        "p_value": variant.p_value,
        "evidence": _evidence(report, variant),
        "status": status,
        "result": STATUS_WORDS[status].label,
    }


def _evidence(report: Report, variant: VariantResult) -> str:
    if report.experiment.analysis_method == "bayesian":
        return "" if variant.chance_to_beat is None else chance(variant.chance_to_beat)
    if variant.p_value is None:
        return ""
    return f"p {p_text(variant.p_value, 1.0 - report.effective_confidence_threshold)}"
