"""Rules of the goals of an experiment, as a warehouse counts them; what no SQL says is refused by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.design.experiment import Experiment
from engine.design.units import is_clustered, unit_name
from engine.measures.event_selection import EVENT_FIELDS, OWN_ATTRIBUTE
from engine.measures.sums import SUMS, Column, SumName
from pipeline.rollup.counting_rules import CountingRules, goal_rows
from pipeline.rollup.goals.counted_goals import CountedGoal, counted_goals
from pipeline.sources.definition import Source

_TRACKED_TYPES = ("custom_event", "revenue")
_GOAL_TYPES = (*_TRACKED_TYPES, "ga4_event")


class UncountableError(Exception):
    """An experiment that SQL cannot count; the message names each goal and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRule:
    """Rule of one of `counted_goals`, by its position there: what `goal_rows` says of it, and its events.

    `takes_plain` tells whether it counts events that are no orders. `field` is a column of events.
    """

    number: int
    place: int
    event_name: str
    takes_plain: bool
    is_denominator: bool
    has_denominator: bool
    step: int | None
    last_step: int | None
    is_revenue: bool
    takes_value: bool
    goal_currency: str
    minor_units: int
    min_cents: int
    max_cents: int
    before_us: int
    from_us: int
    window_us: int
    has_amounts: bool
    field: str | None
    units_of_cent: int | None

    @property
    def column(self) -> str:
        """Short name of its columns."""
        return f"r{self.number}"

    @property
    def orders(self) -> tuple[object, ...]:
        """What tells apart which orders count."""
        bounds = (self.goal_currency, self.min_cents, self.max_cents) if self.is_revenue else ()
        return (self.event_name, self.takes_plain, *bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalSums:
    """A goal by its `place`, with the `rules` of its own events, of its denominator's and of its steps.

    `own` are the last ones of a funnel. `sums` are named as in `engine.measures.sums`.
    """

    place: int
    own: GoalRule
    denominator: GoalRule | None
    steps: tuple[GoalRule, ...]
    columns: tuple[Column, ...]

    @property
    def rules(self) -> tuple[GoalRule, ...]:
        """All rules, in the order of `counted_goals`."""
        found = (self.own, *self.steps, *([self.denominator] if self.denominator else []))
        return tuple(sorted(found, key=lambda rule: rule.number))

    @property
    def sums(self) -> tuple[SumName, ...]:
        """Sums of which a visitor has all columns."""
        known = {"cents", *self.columns}
        return tuple(one.name for one in SUMS.values() if known.issuperset(name for name, _ in one.columns))


def goal_rules(experiment: Experiment, rules: CountingRules, events: Sequence[Source]) -> list[GoalSums]:
    """List the goals of an experiment with their rules; UncountableError where SQL cannot count one."""
    counted = counted_goals([experiment])
    if problems := [*_problems(experiment, counted, events)]:
        raise UncountableError("; ".join(dict.fromkeys(problems)))
    rows = goal_rows([experiment], rules, range(len(counted))).iter_rows(named=True)
    found = [_rule(number, one, row) for number, (one, row) in enumerate(zip(counted, rows, strict=True))]
    return [
        GoalSums(
            place=place,
            own=next(one for one in of_goal if not one.is_denominator and one.step == one.last_step),
            denominator=next((one for one in of_goal if one.is_denominator), None),
            steps=tuple(one for one in of_goal if one.step != one.last_step),
            columns=goal.measure.columns,
        )
        for place, goal in enumerate(experiment.goals)
        for of_goal in [[one for one in found if one.place == place]]
    ]


def _rule(number: int, one: CountedGoal, row: dict[str, object]) -> GoalRule:
    kept = {name: row[name] for name in GoalRule.__dataclass_fields__ if name in row}
    field = one.goal.field_of_events
    fields = {
        **kept,
        "number": number,
        "place": one.place,
        "event_name": one.goal.tracking["event_name"],
        "takes_plain": one.goal.goal_type in _TRACKED_TYPES,
        "field": None if field is None else field.removeprefix(OWN_ATTRIBUTE),
    }
    return GoalRule(**fields)


def _problems(
    experiment: Experiment, counted: Sequence[CountedGoal], events: Sequence[Source]
) -> Iterator[str]:
    if experiment.started_at is None:
        yield f"'{experiment.name}' has not started, so no event is of its time"
    if is_clustered(experiment.unit):
        yield f"it compares {unit_name(experiment.unit)}, and a warehouse counts visitors"
    attributes = {name for source in events for name in source.columns.segments}
    for _, _, goal, *_ in counted:
        if goal.goal_type not in _GOAL_TYPES:
            yield (
                f"'{goal.name}' counts events of type {goal.goal_type}, and a warehouse's have names; "
                "make it a custom_event"
            )
        if goal.measure.not_in_sql:
            yield f"'{goal.name}' is a {goal.measure.word}: {goal.measure.not_in_sql}"
        if goal.tracking.get("value_param", "value") != "value":
            yield f"'{goal.name}' reads {goal.tracking['value_param']!r}; name that column as value instead"
        field = goal.field_of_events
        if field is not None and field not in {*EVENT_FIELDS, *(OWN_ATTRIBUTE + one for one in attributes)}:
            yield f"'{goal.name}' counts values of {field!r}, which is no segment of the events"
