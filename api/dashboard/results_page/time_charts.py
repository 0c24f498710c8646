"""Charts of a goal over time: the change so far with its bands, the rate so far, and visitors a day."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from api.dashboard.results_page.plot import (
    Days,
    Line,
    Plot,
    Scale,
    band_of,
    bars_of,
    day_words,
    points_of,
    readings_of,
)
from engine.analysis.report.lift_by_day import DayLift, has_daily_rates, lift_by_day, why_no_lift
from engine.analysis.results.formatting import figure, interval_text, share, signed
from engine.analysis.results.goal_limits import bounds_of
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import Interval, VariantResult
from engine.charts.lift_over_time import change_domain
from engine.charts.report import cumulative_rates

# Further lines have no colour of their own: those of the control and of the variant that is shown stay.
_MOST_LINES: Final = 4


def draw_change(report: Report, goal: GoalReport, shown: VariantResult | None, margin: float) -> Plot | None:
    """Draw the change of a variant so far, with its band at one look and at every look."""
    if why_no_lift(report, goal) is not None or shown is None:
        return None
    lifts = lift_by_day(report, goal, variant_id=shown.variant_id)
    if not lifts:
        return None
    low, high = change_domain(lifts)
    scale, days, last = Scale(low, high, signed), _days(goal), lifts[-1]
    kinds: tuple[tuple[str, Callable[[DayLift], Interval | None]], ...] = (
        ("every", lambda one: one.always_valid),
        ("once", lambda one: one.interval),
    )
    bands = [
        Line(name=look, look=look, points=band_of(days, scale, spans))
        for look, interval in kinds
        if (spans := _spans(lifts, interval))
    ]
    text = _change_words(last)
    return Plot(
        summary=f"Change of {goal.goal.name} with {shown.variant_name}: {text} on {day_words(last.day)}",
        days=days,
        scale=scale,
        bands=tuple(bands),
        lines=(Line(name=shown.variant_name, look="line", points=_line(days, scale, lifts)),),
        readings=readings_of(
            days, ((one.day, f"{_change_words(one)}, {one.visitors:,} visitors") for one in lifts)
        ),
        zone=(scale.at(margin), round(scale.at(-margin) - scale.at(margin), 2)),
        end=(days.at(last.day), scale.at(last.lift), signed(last.lift), day_words(last.day)),
    )


def draw_rate(goal: GoalReport, shown: VariantResult | None) -> Plot | None:
    """Draw each variant's rate so far, or its revenue per visitor; None where its days are not kept."""
    rows = list(cumulative_rates(goal)) if has_daily_rates(goal) else []
    if not rows:
        return None
    values = [row["value"] for row in rows]
    room = 0.08 * ((max(values) - min(values)) or max(values) or 1.0)
    write = share if goal.goal.unit == "share" else figure
    scale, days = Scale(max(0.0, min(values) - room), max(values) + room, write), _days(goal)
    names = _drawn_names(goal, shown)
    by_day: dict[date, list[str]] = {}
    for row in rows:
        if row["variant"] in names:
            by_day.setdefault(date.fromisoformat(row["day"]), []).append(
                f"{row['variant']} {write(row['value'])}"
            )
    lines = [
        Line(
            name=name,
            look=f"line series-{place}",
            points=points_of(
                days,
                scale,
                ((date.fromisoformat(row["day"]), row["value"]) for row in rows if row["variant"] == name),
            ),
        )
        for place, name in enumerate(names)
    ]
    return Plot(
        summary=f"{goal.goal.name} so far by day: {', '.join(names)}",
        days=days,
        scale=scale,
        lines=tuple(lines),
        readings=readings_of(days, ((day, ", ".join(texts)) for day, texts in by_day.items())),
    )


def draw_visitors(goal: GoalReport) -> Plot | None:
    """Draw the visitors of all variants who were first exposed on each day."""
    names = [(one.variant_id, one.variant_name) for one in goal.variants]
    counts = [(day, [by_id[key].visitors for key, _ in names]) for day, by_id in goal.days]
    most = max((sum(numbers) for _, numbers in counts), default=0)
    if not most:
        return None
    scale = Scale(0.0, 1.05 * most, lambda value: f"{value:,.0f}")
    days = Days(goal.days[0][0], goal.days[-1][0], have_places=True)
    split = [
        (
            day,
            sum(numbers),
            ", ".join(f"{name} {one:,}" for (_, name), one in zip(names, numbers, strict=True)),
        )
        for day, numbers in counts
    ]
    bars = bars_of(
        days, scale, ((day, total, f"{total:,} visitors ({words})") for day, total, words in split)
    )
    return Plot(summary="Visitors first exposed, by day", days=days, scale=scale, readings=bars)


def _days(goal: GoalReport) -> Days:
    return Days(goal.days[0][0], goal.days[-1][0])


def _line(days: Days, scale: Scale, lifts: Sequence[DayLift]) -> str:
    return points_of(days, scale, ((one.day, one.lift) for one in lifts))


def _spans(
    lifts: Sequence[DayLift], interval: Callable[[DayLift], Interval | None]
) -> list[tuple[date, float, float]]:
    known = ((one.day, interval(one)) for one in lifts)
    return [(day, *bounds_of(found)) for day, found in known if found is not None]


def _change_words(one: DayLift) -> str:
    every = f", {interval_text(one.always_valid)} at every look" if one.always_valid else ""
    return f"{signed(one.lift)} ({interval_text(one.interval)} at one look{every})"


def _drawn_names(goal: GoalReport, shown: VariantResult | None) -> list[str]:
    names = [one.variant_name for one in goal.variants]
    if len(names) <= _MOST_LINES:
        return names
    return [one.variant_name for one in goal.variants if one.is_control or one == shown]
