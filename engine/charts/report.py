"""Charts of a report over time: rates by day, weights by epoch."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from engine.analysis.report.lift_by_day import has_daily_rates
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.segment_report import GoalSegments
from engine.charts.altair_module import load_altair
from engine.charts.themes import SERIES, SHAPES, Theme, config_of
from engine.currencies import minor_unit_digits, minor_units

if TYPE_CHECKING:
    from altair import Chart

__all__ = [
    "chart_rates",
    "chart_weights",
    "cumulative_rates",
    "day_axis",
    "goal_of",
]

# Results of one goal.
OfGoal = TypeVar("OfGoal", GoalReport, GoalSegments)
_WIDTH = 520
# Rates of fewer visitors, as of the last hour of a first day, would stretch the axis for all the others.
_FIRST_SHARE = 0.01
# The second and third seven variants have the colours of the first: dashes tell them apart.
_DASHES = [[1, 0]] * 7 + [[6, 3]] * 7 + [[2, 2]] * 7


def goal_of(goals: Sequence[OfGoal], goal_id: str | None) -> OfGoal:
    """Find the results of a goal by id, or of the primary goal; ValueError where there is none."""
    for one in goals:
        if one.goal.is_primary if goal_id is None else one.goal.id == goal_id:
            return one
    raise ValueError(f"the report has no goal {goal_id!r}; it has {[one.goal.id for one in goals]}")


def chart_rates(report: Report, goal_id: str | None = None, *, theme: Theme = "light") -> "Chart":
    """Chart each variant's cumulative rate by the end of each day.

    The conversion rate, or revenue per visitor in major units; of the primary goal unless another is named.
    Raises ValueError for a goal that the report does not have, or that is measured by neither: its days are
    not kept.
    """
    alt = load_altair()
    goal = goal_of(report.goals, goal_id)
    if not has_daily_rates(goal):
        raise ValueError(
            f"{goal.goal.name!r} is measured by {goal.goal.measure.word}, whose days are not kept;"
            " chart_improvements draws it"
        )
    is_revenue = goal.goal.unit == "cents"
    currency = goal.summary.currency
    title = f"revenue per visitor so far, {currency}" if is_revenue else "conversion rate so far"
    names = [variant.variant_name for variant in goal.variants]
    rows = list(cumulative_rates(goal))
    # Of axes without data, Vega knows neither their ends nor that one is of time.
    day = alt.X("day:T", title=None)
    value = alt.Y("value:Q", title=title)
    if rows:
        day = day_axis(len(goal.days))
        value = value.scale(zero=False)
    else:
        day = day.axis(None).scale(domain=[0, 1])
        value = value.scale(domain=[0, 1])
    chart: Chart = (
        alt.Chart(alt.Data(values=rows), title=f"{goal.goal.name}: {title}", width=_WIDTH)
        .mark_line(point={"size": 45, "filled": True, "opacity": 1})
        .encode(
            x=day,
            y=value.axis(format=f",.{minor_unit_digits(currency)}f" if is_revenue else ".2~%", tickCount=6),
            color=_by_variant(alt.Color, names, SERIES),
            shape=_by_variant(alt.Shape, names, SHAPES),
            strokeDash=_by_variant(alt.StrokeDash, names, _DASHES),
            tooltip=["day:T", "variant:N", alt.Tooltip("value:Q"), alt.Tooltip("visitors:Q", format=",")],
        )
        .configure(**config_of(theme))
    )
    return chart


def chart_weights(report: Report, *, theme: Theme = "light") -> "Chart":
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
            color=_by_variant(alt.Color, list(names.values()), SERIES),
        )
        .configure(**config_of(theme))
    )
    return chart


def _by_variant(channel: Any, names: list[str], values: Sequence[Any]) -> Any:  # noqa: ANN401  # of Altair
    """Give each variant its value of a channel, in order, and again from the first after the last."""
    scale = {"domain": names, "range": [values[i % len(values)] for i in range(len(names))]}
    return channel("variant:N", title=None).scale(**scale).legend(symbolLimit=0)


def day_axis(days: int) -> Any:  # noqa: ANN401  # of Altair
    """Return the axis of so many days, with few enough labels that they do not overlap."""
    ticks = {"interval": "day", "step": max(1, -(-days // 10))}
    return load_altair().X("day:T", title=None).axis(format="%-d %b", grid=False, tickCount=ticks)


def cumulative_rates(goal: GoalReport) -> Iterator[dict[str, Any]]:
    """Yield a row per day and variant, once the variant has a share of its visitors that a rate can be of."""
    is_revenue = goal.goal.unit == "cents"
    units = minor_units(goal.summary.currency)
    fewest = {variant.variant_id: max(1.0, _FIRST_SHARE * variant.visitors) for variant in goal.variants}
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
            if seen >= fewest[variant.variant_id]:
                yield {
                    "day": day.isoformat(),
                    "variant": variant.variant_name,
                    "visitors": int(seen),
                    "value": amounts[variant.variant_id] / seen,
                }
