"""Table of goals as a chart: each variant's metric, change with its interval, p value and result in a row."""

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
# Left edges of the columns of text before and after the bars, with their headings.
_BEFORE: Final = {
    "goal": (0, "Goal"),
    "variant": (190, "Variant"),
    "control": (330, "Control"),
    "value": (430, "Value"),
}
_AFTER: Final = {"change": (0, "Change"), "evidence": (190, "Evidence"), "result": (290, "Result")}
_WIDTHS: Final = (520, 400)


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
    shown = rows[:most_rows]
    words, colours, _ = legend_of(row["status"] for row in shown)
    drawn = [
        row | {"row": place, "status": STATUS_WORDS[row["status"]].label}
        for place, row in enumerate(shown, 1)
    ]
    order = alt.Y("row:O", axis=None, scale=alt.Scale(domain=list(range(len(drawn) + 1))))
    height = _ROW_HEIGHT * (len(drawn) + 1)
    data = alt.Data(values=drawn)

    def texts(columns: dict[str, tuple[int, str]], width: int) -> Any:  # noqa: ANN401  # of Altair
        cells = [
            alt.Chart(data)
            .mark_text(align="left", limit=185)
            .encode(y=order, x=alt.value(left), text=f"{name}:N")
            for name, (left, _) in columns.items()
        ]
        heads = alt.Data(values=[{"row": 0, **{name: head for name, (_, head) in columns.items()}}])
        headings = [
            alt.Chart(heads)
            .mark_text(align="left", fontWeight="bold")
            .encode(y=order, x=alt.value(left), text=f"{name}:N")
            for name, (left, _) in columns.items()
        ]
        return alt.layer(*cells, *headings).properties(width=width, height=height)

    low, high = change_domain_of(shown)
    x = alt.X("from:Q", title=None).scale(domain=[low, high], nice=False)
    x = x.axis(labelExpr=SIGNED_PERCENT, tickCount=3, labelOverlap=True, grid=False)
    ends = [
        row
        | {
            "from": low if row["low"] is None else row["low"],
            "to": high if row["high"] is None else row["high"],
        }
        for row in drawn
        if row["improvement"] is not None
    ]
    base = alt.Chart(alt.Data(values=ends)).encode(
        y=order, color=alt.Color("status:N", title=None, legend=None).scale(domain=words, range=colours)
    )
    bars = alt.layer(
        base.mark_rule(strokeWidth=3).encode(x=x, x2="to:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(x="improvement:Q"),
        alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0)),
    ).properties(width=_BARS_WIDTH, height=height)
    left_out = len(rows) - len(shown)
    chart: HConcatChart = (
        alt.hconcat(texts(_BEFORE, _WIDTHS[0]), bars, texts(_AFTER, _WIDTHS[1]), spacing=10)
        .properties(
            title=alt.Title(
                f"{report.experiment.name}: goals", subtitle=f"and {left_out} more rows" if left_out else ""
            )
        )
        .configure(**config_of(theme))
    )
    return chart


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
