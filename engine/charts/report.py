"""Charts of a report: improvements with intervals, rates by day, weights by epoch."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from engine.analysis.results.report import GoalReport, Report, VariantResult
from engine.analysis.results.segment_report import GoalSegments
from engine.currencies import minor_unit_digits, minor_units
from engine.errors import MissingChartsError

if TYPE_CHECKING:
    from altair import Chart, FacetChart

__all__ = [
    "chart_improvements",
    "chart_rates",
    "chart_weights",
    "draw_in_notebooks",
    "goal_of",
    "load_altair",
]

STATUS_COLOURS = {
    "winner": "#2a9d5c",
    "loser": "#d1495b",
    "inconclusive": "#5b7aa6",
    "insufficient_data": "#a0a0a0",
}
# Results of one goal.
OfGoal = TypeVar("OfGoal", GoalReport, GoalSegments)
_WIDTH = 520
_ROW_HEIGHT = 34


def goal_of(goals: Sequence[OfGoal], goal_id: str | None) -> OfGoal:
    """Find the results of a goal by id, or of the primary goal; ValueError where there is none."""
    for one in goals:
        if one.goal.is_primary if goal_id is None else one.goal.id == goal_id:
            return one
    raise ValueError(f"the report has no goal {goal_id!r}; it has {[one.goal.id for one in goals]}")


def load_altair() -> Any:  # noqa: ANN401  # a module
    """Import Altair, on first use.

    Raises MissingChartsError where it is not installed.
    """
    try:
        return import_module("altair")
    except ModuleNotFoundError as missing:
        if missing.name != "altair":
            raise
        raise MissingChartsError("charts are drawn by Altair: install it with truelift[notebooks]") from None


def draw_in_notebooks() -> None:
    """Make notebooks store charts as Vega-Lite data, which Jupyter and VS Code render, without a script.

    Equals Altair's renderer "mimetype", but with a MIME type that ends in +json, as the format requires.
    """
    renderers = load_altair().renderers

    def as_json(spec: dict[str, Any], **_: object) -> dict[str, Any]:
        return {"application/vnd.vegalite.v6+json": spec, "text/plain": "A chart"}

    renderers.register("truelift", as_json)
    renderers.enable("truelift")


def chart_improvements(report: Report) -> "FacetChart":
    """Chart every variant's change against the control with its interval, a row of panels by goal.

    A variant without a change has no mark; an interval is drawn where both its ends are known.
    """
    rows = [_change(goal, variant) for goal in report.goals for variant in goal.variants]
    return _forest(
        [row for row in rows if row["improvement"] is not None],
        label="variant",
        panel="goal",
        title=f"{report.experiment.name}: change against the control",
        coloured=True,
    )


def chart_rates(report: Report, goal_id: str | None = None) -> "Chart":
    """Chart each variant's cumulative rate by the end of each day.

    The conversion rate, or revenue per visitor in major units; of the primary goal unless another is named.
    Raises ValueError for a goal that the report does not have, or that is measured by neither: its days are
    not kept.
    """
    alt = load_altair()
    goal = goal_of(report.goals, goal_id)
    if goal.goal.measure not in {"converted", "funnel"}:
        raise ValueError(
            f"{goal.goal.name!r} is measured by {goal.goal.measure}, whose days are not kept;"
            " chart_improvements draws it"
        )
    is_revenue = goal.goal.goal_type == "revenue"
    title = "revenue per visitor so far" if is_revenue else "conversion rate so far"
    chart: Chart = (
        alt.Chart(alt.Data(values=list(_cumulative(goal))), title=f"{goal.goal.name}: {title}", width=_WIDTH)
        .mark_line(point=True)
        .encode(
            x=alt.X("day:T", title="day"),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)).axis(
                format=f".{minor_unit_digits(goal.decision.revenue_currency)}f" if is_revenue else ".2~%"
            ),
            color=alt.Color("variant:N", title="variant"),
            tooltip=["day:T", "variant:N", alt.Tooltip("value:Q"), alt.Tooltip("visitors:Q", format=",")],
        )
    )
    return chart


def chart_weights(report: Report) -> "Chart":
    """Chart each variant's share of new visitors, from one change of the weights to the next.

    Raises ValueError where weights never changed.
    """
    alt = load_altair()
    if report.estimand is None:
        raise ValueError(f"the weights of '{report.experiment.name}' never changed: there is nothing to draw")
    names = {variant.id: variant.name for variant in report.experiment.variants}
    rows = [
        {"since": epoch.started_at.isoformat(), "variant": names[variant_id], "weight": weight}
        for epoch in report.estimand.epochs
        for variant_id, weight in epoch.weights.items()
    ]
    chart: Chart = (
        alt.Chart(
            alt.Data(values=rows),
            title=f"{report.experiment.name}: shares of new visitors by variant",
            width=_WIDTH,
        )
        .mark_area(interpolate="step-after")
        .encode(
            x=alt.X("since:T", title=None),
            y=alt.Y("weight:Q", title="share of new visitors", stack="normalize").axis(format=".0%"),
            color=alt.Color("variant:N", title="variant", sort=list(names.values())),
        )
    )
    return chart


def _change(goal: GoalReport, variant: VariantResult) -> dict[str, Any]:
    interval = variant.improvement_interval
    return {
        "goal": goal.goal.name,
        "variant": variant.variant_name,
        "improvement": variant.improvement,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "status": variant.status,
        "visitors": variant.visitors,
    }


def _cumulative(goal: GoalReport) -> Iterator[dict[str, Any]]:
    """Yield a row per day and variant, once the variant has visitors."""
    is_revenue = goal.goal.goal_type == "revenue"
    units = minor_units(goal.decision.revenue_currency)
    visitors, amounts = ({variant.variant_id: 0.0 for variant in goal.variants} for _ in range(2))
    for day, by_variant in goal.days:
        for variant in goal.variants:
            counted = by_variant.get(variant.variant_id)
            if counted is not None:
                visitors[variant.variant_id] += counted.visitors
                amounts[variant.variant_id] += (
                    counted.revenue_cents / units if is_revenue else counted.conversions
                )
            seen = visitors[variant.variant_id]
            if seen:
                yield {
                    "day": day.isoformat(),
                    "variant": variant.variant_name,
                    "visitors": int(seen),
                    "value": amounts[variant.variant_id] / seen,
                }


def _forest(
    rows: list[dict[str, Any]], *, label: str, panel: str, title: str, coloured: bool
) -> "FacetChart":
    """Forest plot: intervals as bars, estimates as dots, and a line at 0."""
    alt = load_altair()
    colour = alt.value(STATUS_COLOURS["inconclusive"])
    if coloured:
        scale = alt.Scale(domain=list(STATUS_COLOURS), range=list(STATUS_COLOURS.values()))
        colour = alt.Color("status:N", scale=scale, title="status")
    base = alt.Chart().encode(y=alt.Y(f"{label}:N", title=None, sort=None), color=colour)
    percent = {"format": "+.1~%"}
    bars = base.mark_rule(strokeWidth=3).encode(
        x=alt.X("low:Q", title="change").axis(**percent),
        x2="high:Q",
        opacity=alt.condition("isValid(datum.low) && isValid(datum.high)", alt.value(0.8), alt.value(0.0)),
    )
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="improvement:Q",
        tooltip=[f"{label}:N"]
        + [alt.Tooltip(f"{name}:Q", **percent) for name in ("improvement", "low", "high")]
        + [alt.Tooltip("visitors:Q", format=",")],
    )
    nothing = alt.Chart().mark_rule(strokeDash=[4, 4], color="#888").encode(x=alt.datum(0))
    height = alt.Step(_ROW_HEIGHT)
    chart: FacetChart = (
        alt.layer(nothing, bars, dots, data=alt.Data(values=rows))
        .properties(width=_WIDTH, height=height)
        .facet(row=alt.Row(f"{panel}:N", title=None, sort=None), title=title)
        .resolve_scale(y="independent")
    )
    return chart
