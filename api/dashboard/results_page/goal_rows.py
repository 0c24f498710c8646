"""Rows of goals: in groups, one a variant, each with its interval on the axis that the page shares."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.dashboard.interval_bar import Axis, IntervalBar, axis_of
from engine.analysis.results.goal_limits import is_lower_better, limits_of, row_status
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.status_words import STATUS_WORDS, StatusWord
from engine.analysis.results.variant_result import Interval, VariantResult

# More rows are shown when they are asked for.
MOST_ROWS: Final = 100
# More goals of the last group are folded.
OPEN_GOALS: Final = 4
_HINTS: Final = {
    "Primary": "decides",
    "Guardrails": "must not get worse by more than their limit",
    "Secondary": "explain, never decide",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRow:
    """A variant on a goal: its numbers, its bar, and its status in a word; without a bar it has no change."""

    variant: VariantResult
    word: StatusWord
    bar: IntervalBar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRows:
    """A goal with the rows that are shown of it; `hidden` variants are shown when all are asked for."""

    report: GoalReport
    unit: str
    control: VariantResult | None
    rows: tuple[VariantRow, ...]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalGroup:
    """Goals of one role; those that are `folded` are shown on demand."""

    title: str
    hint: str
    shown: tuple[GoalRows, ...]
    folded: tuple[GoalRows, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalTable:
    """All groups, the axis of their bars, and how many rows are left out."""

    groups: tuple[GoalGroup, ...]
    axis: Axis
    hidden: int

    @property
    def has_guardrails(self) -> bool:
        """Whether some row has the limit of a guardrail."""
        return any(group.title == "Guardrails" for group in self.groups)


def goal_table(report: Report, *, shows_all: bool, variant_id: str | None = None) -> GoalTable:
    """Arrange the goals: all variants of the primary one, and of the others as many as there is room for.

    A variant that is named is shown alone.
    """
    by_role = _by_role(report.goals)
    chosen = _choose(by_role, shows_all=shows_all)
    if variant_id in {variant.id for variant in report.experiment.variants if not variant.is_control}:
        chosen = {goal.goal.id: _only(goal, variant_id) for goal in report.goals}
    axis = axis_of(_decided_intervals(report, chosen))
    groups = []
    for title, goals in by_role.items():
        rows = tuple(_rows(report, goal, chosen[goal.goal.id], axis) for goal in goals)
        open_goals = OPEN_GOALS if title == "Secondary" and not shows_all else len(rows)
        shown, folded = rows[:open_goals], rows[open_goals:]
        if rows:
            groups.append(GoalGroup(title=title, hint=_HINTS[title], shown=shown, folded=folded))
    return GoalTable(
        groups=tuple(groups),
        axis=axis,
        hidden=sum(one.hidden for group in groups for one in (*group.shown, *group.folded)),
    )


def challengers(goal: GoalReport) -> list[VariantResult]:
    """List the variants that are compared with the control."""
    return [one for one in goal.variants if not one.is_control]


def bar_of(
    report: Report, goal: GoalReport, variant: VariantResult, axis: Axis, word: StatusWord
) -> IntervalBar | None:
    """Draw the change of a variant; None without one."""
    if variant.improvement is None:
        return None
    limits = limits_of(report, goal)
    return IntervalBar(
        point=variant.improvement,
        interval=variant.improvement_interval,
        every_look=variant.compared.sequential_interval,
        axis=axis.limit,
        margin=limits.margin,
        guardrail=limits.guardrail,
        # A guardrail on the safe side of its limit is no gain.
        tone="neutral" if word.shape == "equal" else word.tone,
    )


def _only(goal: GoalReport, variant_id: str | None) -> list[VariantResult]:
    return [one for one in goal.variants if one.variant_id == variant_id]


def _by_role(goals: Iterable[GoalReport]) -> dict[str, list[GoalReport]]:
    by_role: dict[str, list[GoalReport]] = {title: [] for title in _HINTS}
    for goal in goals:
        role = "Primary" if goal.goal.is_primary else "Guardrails" if goal.goal.is_guardrail else "Secondary"
        by_role[role].append(goal)
    return by_role


def _choose(by_role: dict[str, list[GoalReport]], *, shows_all: bool) -> dict[str, list[VariantResult]]:
    """Choose the variants that are shown of each goal: one of each, and all of the first while they fit."""
    every = {goal.goal.id: challengers(goal) for goals in by_role.values() for goal in goals}
    if shows_all or sum(map(len, every.values())) <= MOST_ROWS:
        return every
    chosen = {
        goal.goal.id: [one] if (one := _telling(goal)) else [] for goals in by_role.values() for goal in goals
    }
    for goal in (*by_role["Primary"], *by_role["Guardrails"]):
        others = sum(len(rows) for key, rows in chosen.items() if key != goal.goal.id)
        if others + len(every[goal.goal.id]) <= MOST_ROWS:
            chosen[goal.goal.id] = every[goal.goal.id]
    return chosen


def _telling(goal: GoalReport) -> VariantResult | None:
    """Return the best variant of a goal; of a guardrail the worst one."""
    sign = -1.0 if is_lower_better(goal) else 1.0
    compared = [one for one in challengers(goal) if one.improvement is not None]
    pick = min if goal.goal.is_guardrail else max
    found = pick(compared, key=lambda one: sign * (one.improvement or 0.0), default=None)
    return found or next(iter(challengers(goal)), None)


def _rows(report: Report, goal: GoalReport, variants: Sequence[VariantResult], axis: Axis) -> GoalRows:
    rows = []
    for variant in variants:
        word = STATUS_WORDS[row_status(report, goal, variant)]
        rows.append(VariantRow(variant=variant, word=word, bar=bar_of(report, goal, variant, axis, word)))
    return GoalRows(
        report=goal,
        unit=unit_words(goal),
        control=next((one for one in goal.variants if one.is_control), None),
        rows=tuple(rows),
        hidden=len(challengers(goal)) - len(rows),
    )


def unit_words(goal: GoalReport) -> str:
    """Say what the numbers of a goal are."""
    measure = goal.goal.measure
    words = {
        "share": "share of visitors",
        "cents": f"{goal.summary.currency} {'an order' if measure.is_per_order else 'a visitor'}",
    }.get(goal.goal.unit, measure.label.lower())
    return f"{words}, lower is better" if is_lower_better(goal) else words


def _decided_intervals(report: Report, chosen: dict[str, list[VariantResult]]) -> Iterator[Interval | None]:
    """Yield the intervals that the axis must hold: those that decide something, else the primary goal's."""
    found = [
        (goal, variant, row_status(report, goal, variant))
        for goal in report.goals
        for variant in chosen[goal.goal.id]
        if variant.improvement_interval is not None
    ]
    decided = [one for one in found if one[2] not in {"inconclusive", "insufficient_data"}]
    for _, variant, _ in decided or [one for one in found if one[0].goal.is_primary]:
        yield variant.improvement_interval
        yield variant.compared.sequential_interval
