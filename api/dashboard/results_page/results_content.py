"""Content of the results page: what its template shows, from a report and the options of its address."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final
from urllib.parse import urlencode

from api.dashboard.computed_results import AskedResults
from api.dashboard.filter_form import filters_of
from api.dashboard.interval_bar import axis_of
from api.dashboard.listed_rows import DECIDABLE
from api.dashboard.results_page.chart_notes import Note, annotations
from api.dashboard.results_page.goal_rows import bar_of, challengers, goal_table
from api.dashboard.results_page.plot import Plot, day_words
from api.dashboard.results_page.ramp_state import ramp_state
from api.dashboard.results_page.segment_forest import SegmentForest, segment_forest
from api.dashboard.results_page.time_charts import draw_change, draw_rate, draw_visitors
from api.dashboard.results_page.trust_facts import last_visitor_at, split_words
from api.dashboard.results_page.value_chart import ValueChart, draw_values, has_values
from api.dashboard.results_page.verdict_facts import facts_of
from engine.analysis.results.goal_limits import limits_of, row_status
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.status_words import STATUS_WORDS
from engine.analysis.results.variant_result import VariantResult
from engine.analysis.results.verdict_words import VERDICT_WORDS
from engine.local_days import local_day
from pipeline.clock import utc_now
from pipeline.store.catalog.errors import NotFoundError

logger = logging.getLogger(__name__)

# Parameters of the page, which are no filters.
OPTIONS: Final[tuple[str, ...]] = ("show", "goals", "chart", "goal", "variant", "values")
CHARTS: Final = {"change": "Change", "rate": "Rate so far", "visitors": "Visitors a day"}
# The newest entries of the audit trail that may be marked.
_NEWEST: Final = 200


@dataclass(frozen=True, slots=True)
class PageAddress:
    """The address of the page: its path, its filters, and its options."""

    path: str
    filters: Mapping[str, str]
    options: Mapping[str, str]

    def link(self, **changes: str | None) -> str:
        """Return the address with some parameters changed, or taken away by None."""
        asked = {**self.filters, **self.options, **changes}
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"{self.path}?{query}" if query else self.path

    def kept(self, *changed: str) -> list[tuple[str, str]]:
        """List the parameters that a form sends along, without those that its fields change."""
        return [
            (name, value) for name, value in {**self.filters, **self.options}.items() if name not in changed
        ]

    def link_to_night(self, night: str) -> str:
        """Return the address of the report of a past night, which is of all visitors."""
        return PageAddress(self.path, {"as_of": night}, self.options).link()

    def link_to_all(self) -> str:
        """Return the address without any filter."""
        return PageAddress(self.path, {}, self.options).link()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeChart:
    """The chart over time: which one it is of those there are, its goal and variant, and what happened."""

    kind: str
    kinds: Mapping[str, str]
    goal: GoalReport
    variant: VariantResult | None
    plot: Plot


def results_content(asked: AskedResults, page: PageAddress) -> dict[str, Any]:
    """Compute what the page shows of results."""
    report = asked.report()
    available = asked.available_segments()
    content = report_content(asked, report, page)
    return {
        **content,
        "distribution": _distribution(asked, report, page, content["leader"]),
        "has_values": has_values,
        "forest": None if page.filters else _forest(asked, report, content["leader"]),
        "filters": filters_of(available, page.filters),
        "nights": [one.isoformat() for one in asked.nights()],
        "owner": owner_of(asked),
        "held_since": None if page.filters else _held_since(asked),
        # A part of the visitors has checks of its own.
        "ramp": None if page.filters else ramp_state(asked.experiment, report, now=utc_now()),
    }


def report_content(
    asked: AskedResults, report: Report, page: PageAddress, *, hides_money: bool = False
) -> dict[str, Any]:
    """Arrange what pages show of a report: the verdict, the goals, and the chart over time."""
    leader, primary = leader_of(report), report.primary
    dates = _dates(asked, report)
    return {
        "report": report,
        "page": page,
        "leader": leader,
        "hero": None if leader is None or primary is None else _hero(report, primary, leader),
        "facts": facts_of(
            report,
            leader,
            reached_on=dates["reached"],
            part=_part(asked, report),
        ),
        "table": goal_table(
            report,
            shows_all=page.options.get("goals") == "all",
            variant_id=page.options.get("variant"),
        ),
        "time": _time_chart(
            report,
            page,
            leader,
            notes=_notes(asked, report),
            looks=_looks(asked),
            hides_money=hides_money,
        ),
        "dates": dates,
        "split": split_words(report),
        "last_visitor_at": last_visitor_at(report),
    }


def _dates(asked: AskedResults, report: Report) -> dict[str, str | None]:
    """Tell the days of the start, the planned look and the end in the project's time zone."""
    experiment, timezone = asked.experiment, asked.project.timezone
    times = {
        "started": experiment.started_at,
        "reached": report.plan.reached_at,
        "ended": experiment.completed_at,
    }
    days = {name: None if time is None else local_day(time, timezone) for name, time in times.items()}
    return {name: None if day is None else f"{day_words(day)} {day.year}" for name, day in days.items()}


def leader_of(report: Report) -> VariantResult | None:
    """Return the variant that the verdict is about; without one the first that is compared."""
    if report.primary is None:
        return None
    compared = challengers(report.primary)
    name = report.primary.decision.variant_name
    return next((one for one in compared if one.variant_name == name), next(iter(compared), None))


def _part(asked: AskedResults, report: Report) -> str:
    """Say of which visitors the results are, where they are not those that decide."""
    if asked.query.reached or not asked.query.filters.is_everyone:
        return "a part of all"
    control = report.experiment.control
    return f"against {control.name}" if asked.baseline and control else ""


def _hero(report: Report, goal: GoalReport, leader: VariantResult) -> dict[str, Any]:
    """Draw the change of the verdict's variant on an axis of its own."""
    axis = axis_of((leader.improvement_interval, leader.compared.sequential_interval))
    word = STATUS_WORDS[row_status(report, goal, leader)]
    return {"axis": axis, "bar": bar_of(report, goal, leader, axis, word), "tone": word.tone}


def _time_chart(  # noqa: PLR0913 - what the chart shows
    report: Report,
    page: PageAddress,
    leader: VariantResult | None,
    *,
    notes: tuple[Note, ...],
    looks: tuple[date, ...],
    hides_money: bool,
) -> TimeChart | None:
    """Draw the chart that is asked for, or the first that there is."""
    options = page.options
    goal = next((one for one in report.goals if one.goal.id == options.get("goal")), report.primary)
    if goal is None or not goal.days:
        return None
    # Days are made where they are read, and each chart reads all of them.
    goal = replace(goal, days=tuple(goal.days))
    named = next((one for one in challengers(goal) if one.variant_id == options.get("variant")), None)
    variant = named or next(
        (one for one in challengers(goal) if leader and one.variant_id == leader.variant_id), None
    )
    margin = limits_of(report, goal).margin or 0.0
    drawn = {
        "change": draw_change(report, goal, variant, margin),
        "rate": None if hides_money and goal.goal.unit == "cents" else draw_rate(goal, variant),
        "visitors": draw_visitors(goal),
    }
    kinds = {kind: CHARTS[kind] for kind, plot in drawn.items() if plot is not None}
    kind = next((one for one in (options.get("chart"), *kinds) if one in kinds), None)
    plot = None if kind is None else drawn[kind]
    if kind is None or plot is None:
        return None
    return TimeChart(
        kind=kind, kinds=kinds, goal=goal, variant=variant, plot=replace(plot, notes=notes, looks=looks)
    )


def _distribution(
    asked: AskedResults, report: Report, page: PageAddress, leader: VariantResult | None
) -> ValueChart | None:
    """Draw the values of the goal that is asked for; None where there are none, or none is asked for."""
    goal = next((one for one in report.goals if one.goal.id == page.options.get("values")), None)
    if goal is None or not has_values(goal):
        return None
    wanted = page.options.get("variant") or (leader.variant_id if leader else None)
    shown = next((one for one in challengers(goal) if one.variant_id == wanted), None)
    found = asked.distribution(goal.goal)
    return None if found is None else draw_values(goal, found, shown)


def _notes(asked: AskedResults, report: Report) -> tuple[Note, ...]:
    project = asked.project
    trail = asked.services.catalog.audit.page(
        project.account_id, subject_id=asked.experiment.id, per_page=_NEWEST
    )
    reached_at = report.plan.reached_at
    return annotations(asked.experiment, trail.items, reached_at=reached_at, timezone=project.timezone)


def _looks(asked: AskedResults) -> tuple[date, ...]:
    """List the days on which looks were recorded."""
    times = asked.services.catalog.recorded_looks.times(asked.experiment.id)
    return tuple(dict.fromkeys(local_day(one, asked.project.timezone) for one in times))


def _forest(
    asked: AskedResults, report: Report, leader: VariantResult | None
) -> SegmentForest | dict[str, Any] | None:
    """Show the segments on the primary goal; empty where they fail, which the page says beside it."""
    if leader is None or report.primary is None:
        return None
    try:
        segments = asked.segments(report.primary.goal)
    except Exception:
        logger.exception("the segments of %s could not be computed", asked.experiment.id)
        return {}
    if not (segments.goals and segments.goals[0].segments) and segments.left_out:
        return {"left_out": next(iter(segments.left_out.values()))}
    return segment_forest(segments, variant_id=leader.variant_id, margin=report.plan.minimum_effect)


def _held_since(asked: AskedResults) -> str | None:
    """Tell the day since which the verdict holds, where it waits for a decision or for the data."""
    kept = asked.services.catalog.kept_verdicts.find(asked.experiment.id)
    if kept is None or asked.experiment.conclusion or kept.verdict not in {*DECIDABLE, "fix_data"}:
        return None
    day = local_day(kept.since, asked.project.timezone)
    return f"{VERDICT_WORDS[kept.verdict].label} since {day_words(day)} {day.year}"


def owner_of(asked: AskedResults) -> str | None:
    """Name the first member to whom the experiment is assigned."""
    assigned = asked.experiment.assigned_user_ids
    try:
        return (
            asked.services.catalog.members.get(asked.project.account_id, assigned[0]).name
            if assigned
            else None
        )
    except NotFoundError:
        return None
