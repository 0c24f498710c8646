"""Chart of the lift by day, with the band of one look and that of all looks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from engine.analysis.report.lift_by_day import DayLift, lift_by_day
from engine.analysis.results.formatting import share
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import Interval
from engine.charts.altair_module import load_altair
from engine.charts.forest import SIGNED_PERCENT, change_text
from engine.charts.report import day_axis, goal_of
from engine.charts.themes import BLUE, Theme, config_of

if TYPE_CHECKING:
    from altair import Chart, FacetChart

__all__ = ["change_domain", "chart_lift"]

_WIDTH: Final = 520
_HEIGHT: Final = 220
# Panels of this width; more of them are smaller, and two beside each other.
_MOST_LARGE: Final = 3
# Of the axis, in intervals of the last day.
_WIDEST: Final = 2.0


def chart_lift(report: Report, goal_id: str | None = None, *, theme: Theme = "light") -> "Chart | FacetChart":
    """Chart each variant's lift by the end of each day, a panel a variant.

    The wide band holds however often one looks, the narrow one for a single look. Without CUPED and without
    corrections but Bonferroni's, so the last day may differ from the report. Of the primary goal unless
    another is named. Raises ValueError for a goal that the report does not have, or without lifts by day
    (see `lift_by_day`).
    """
    goal = goal_of(report.goals, goal_id)
    lifts = lift_by_day(report, goal)
    title = f"{goal.goal.name}: change against the control so far"
    return _draw(lifts, title, theme) if lifts else _empty(title, theme)


def _empty(title: str, theme: Theme) -> "Chart":
    """Draw axes with fixed ends: of those without data Vega knows none."""
    alt = load_altair()
    chart: Chart = (
        alt.Chart(
            alt.Data(values=[]),
            title=alt.Title(title, subtitle="no day has enough conversions to compare yet"),
            width=_WIDTH,
            height=_HEIGHT,
        )
        .mark_point()
        .encode(
            x=alt.X("day:T", title=None).axis(None).scale(domain=[0, 1]),
            y=_change_axis("lift", (-1.0, 1.0)),
        )
        .configure(**config_of(theme))
    )
    return chart


def _change_axis(column: str, domain: tuple[float, float], *, is_titled: bool = True) -> Any:  # noqa: ANN401  # of Altair
    axis = {"labelExpr": SIGNED_PERCENT, "tickCount": 6, "labelOverlap": True}
    scale = {"domain": list(domain), "nice": False}
    # On a small panel it would run into those of its neighbours; the chart's own title says it, too.
    title = "change against the control" if is_titled else None
    return load_altair().Y(f"{column}:Q", title=title).scale(**scale).axis(**axis)


def _draw(lifts: tuple[DayLift, ...], title: str, theme: Theme) -> "FacetChart":
    alt = load_altair()
    low, high = change_domain(lifts)
    rows = [_row(one, low, high) for one in lifts]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    is_few = len(variants) <= _MOST_LARGE
    x = day_axis(len({one.day for one in lifts}))
    base = alt.Chart().encode(x=x)

    def band(prefix: str, opacity: float) -> Any:  # noqa: ANN401  # of Altair
        marks = base.mark_area(opacity=opacity, color=BLUE, clip=True)
        return marks.encode(
            y=_change_axis(f"{prefix}_low", (low, high), is_titled=is_few), y2=f"{prefix}_high:Q"
        )

    layers = [band("one_look", 0.35)]
    level = share(lifts[0].interval.level)
    subtitle = f"{level} interval, for one look"
    if any(one.always_valid for one in lifts):
        layers.insert(0, band("all_looks", 0.18))
        subtitle = f"{level} intervals: the wide band holds at every look, the narrow one for a single look"
    line = base.mark_line(color=BLUE, point={"size": 35, "filled": True, "color": BLUE}, clip=True).encode(
        y=_change_axis("lift", (low, high), is_titled=is_few),
        tooltip=["day:T", "label:N", "every_look:N", alt.Tooltip("visitors:Q", format=",")],
    )
    zero = alt.Chart().mark_rule(strokeDash=[4, 3], strokeWidth=1).encode(y=alt.datum(0))
    chart: FacetChart = (
        alt.layer(*layers, zero, line, data=alt.Data(values=rows))
        .properties(width=_WIDTH if is_few else _WIDTH // 2 - 20, height=_HEIGHT if is_few else _HEIGHT // 2)
        .facet(
            facet=alt.Facet("variant:N", title=None, sort=variants).header(
                labelAnchor="start", labelOrient="top"
            ),
            columns=1 if is_few else 2,
            title=alt.Title(title, subtitle=subtitle),
            spacing=14,
        )
        .configure(**config_of(theme))
    )
    return chart


def change_domain(lifts: tuple[DayLift, ...]) -> tuple[float, float]:
    """Return the ends of the axis: of all intervals, as far as the wide ones of the first days leave room."""
    widest = [one.always_valid or one.interval for one in lifts]
    last = max(one.day for one in lifts)
    late = _known(interval for one, interval in zip(lifts, widest, strict=True) if one.day == last)
    lift = [one.lift for one in lifts]
    room = _WIDEST * max(map(abs, [*late, *lift]))
    every = [0.0, *lift, *_known(widest)]
    low, high = max(min(every), -room, -1.0), min(max(every), room)
    margin = 0.05 * ((high - low) or 0.1)
    return low - margin, high + margin


def _known(intervals: Iterable[Interval]) -> list[float]:
    """List the finite ends."""
    return [end for one in intervals for end in (one.low, one.high) if end is not None]


def _row(one: DayLift, low: float, high: float) -> dict[str, Any]:
    return {
        "day": one.day.isoformat(),
        "variant": one.variant_name,
        "visitors": one.visitors,
        "lift": one.lift,
        "label": change_text(one.lift, one.interval),
        "every_look": change_text(one.lift, one.always_valid) if one.always_valid else "none",
        **_ends("one_look", one.interval, low, high),
        **_ends("all_looks", one.always_valid, low, high),
    }


def _ends(prefix: str, interval: Interval | None, low: float, high: float) -> dict[str, float | None]:
    """Return the ends of a band within the axis; None without a band."""
    if interval is None:
        return {f"{prefix}_low": None, f"{prefix}_high": None}
    return {
        f"{prefix}_low": low if interval.low is None else max(interval.low, low),
        f"{prefix}_high": high if interval.high is None else min(interval.high, high),
    }
