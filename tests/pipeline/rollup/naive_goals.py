"""Goals counted once more, event by event in plain Python: conversions, money, amounts and funnel steps."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from pipeline.store.event_columns import EventRow
from tests.pipeline.rollup.naive_money import amount_of, cents_of, known_value
from tests.pipeline.rollup.naive_persons import Person, is_trusted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Events(NamedTuple):
    """Events, given once each, and the people of an experiment whose they are."""

    once: Iterable[EventRow]
    person_of: Callable[[EventRow], str]
    people: dict[str, Person]

    def apart(self) -> "Events":
        """Return the same events for the same people, of whom nothing is counted yet."""
        new = {who: Person(one.first, one.variants, one.by_device) for who, one in self.people.items()}
        return self._replace(people=new)


class Counting(NamedTuple):
    """A goal to count; of a funnel, `since` is when each visitor reached the step before, and `done` this."""

    goal: Goal
    experiment: Experiment
    project: Project
    since: dict[tuple[str, bool], int] | None = None
    done: dict[tuple[str, bool], int] | None = None


def count_goal(counting: Counting, events: Events) -> None:
    """Count the events of a goal for the people of an experiment."""
    count = {"ratio": _divide, "funnel": _step_by_step}.get(counting.goal.measure.word, _convert)
    count(counting, events)


def _step_by_step(counting: Counting, events: Events) -> None:
    """Count each step of a funnel as a goal, by the events since the step before."""
    goal = counting.goal
    window = {key: goal.config[key] for key in ("window",) if key in goal.config}
    since = None
    for step in goal.tracking["steps"]:
        config = {key: value for key, value in step.items() if key != "goal_type"}
        of_step = replace(
            goal, id="a step", goal_type=step["goal_type"], is_primary=False, config={**config, **window}
        )
        done: dict[tuple[str, bool], int] = {}
        _convert(counting._replace(goal=of_step, since=since, done=done), events.apart())
        since = done
        for who, one in events.people.items():
            one.steps[goal.id] += (who, False) in done
    config = {key: value for key, value in goal.config.items() if key not in {"measure", "steps"}}
    _convert(counting._replace(goal=replace(goal, config=config), since=since), events)
    for one in events.people.values():
        one.steps[goal.id] += goal.id in one.converted


def _divide(counting: Counting, events: Events) -> None:
    """Count a ratio as two goals: the numerator's amounts, and the denominator's, which are conversions."""
    goal = counting.goal
    config = {key: value for key, value in goal.tracking.items() if key not in {"numerator", "denominator"}}
    above = replace(goal, config={**config, "measure": goal.tracking["numerator"]})
    below_config = dict(goal.tracking["denominator"])
    goal_type = below_config.pop("goal_type")
    window = {key: config[key] for key in ("window",) if key in config}
    below = replace(goal, goal_type=goal_type, config={**below_config, **window})
    if not all(
        below.tracking.get(key) == goal.tracking.get(key) for key in ("event_name", "url", "selector")
    ):
        below = replace(below, id="not of this ratio")
    _convert(counting._replace(goal=above), events)
    apart = events.apart()
    _convert(counting._replace(goal=below), apart)
    for visitor, person in events.people.items():
        person.converted.pop(goal.id, None)
        person.denominators[goal.id] = apart.people[visitor].amounts[below.id]
        if below.id in apart.people[visitor].converted:
            person.converted[goal.id] = apart.people[visitor].converted[below.id]


def _convert(counting: Counting, events: Events) -> None:
    goal, _, project = counting[:3]
    windows = [days for days in (project.attribution_window_days, goal.config.get("window")) if days]
    # The events that count with their values, of a visitor before and since the first exposure.
    valued: dict[tuple[str, bool], list[EventRow]] = defaultdict(list)
    for row, cents in _of_goal(counting, events.once):
        who = events.person_of(row)
        person = events.people.get(who)
        key = who, person is not None and row.occurred_at < person.first.occurred_at
        if person is None or not _is_in_order(counting, key, row):
            continue
        if row.occurred_at < person.first.occurred_at:
            if _remember(counting, person, row, cents, who):
                valued[key].append(row)
            continue
        if not _is_in_time(goal, windows, (row.occurred_at - person.first.occurred_at) / 86_400_000_000):
            continue
        valued[key].append(row)
        moment = moment_of(row.occurred_at)
        person.orders[goal.id].append((moment, -cents if row.is_refund else cents))
        person.amounts[goal.id].append((moment, amount_of(goal, row, cents, counting.project)))
        value = known_value(goal, row, cents, project) if goal.measure.is_quantile else None
        person.values[goal.id] += [] if value is None else [value]
        if not row.is_refund:
            _reach(counting, key, row)
            person.purchases[goal.id] += 1
            person.converted[goal.id] = min(moment, person.converted.get(goal.id, moment))

    if goal.measure.word == "distinct":
        _count_values(goal, valued, events.people)


def _of_goal(counting: Counting, once: Iterable[EventRow]) -> Iterator[tuple[EventRow, int]]:
    """Yield the events of a goal with their money, but for orders that others of the transaction outrank."""
    goal, experiment, project = counting[:3]
    transactions = set()
    of_goal = [
        row
        for row in once
        if not (is_late(row, experiment) or (row.is_bot and project.bot_filtering)) and _is_of(goal, row)
    ]
    ordered = {row.transaction_id for row in of_goal if is_trusted(row) and not row.is_refund}
    reported = {row.transaction_id for row in of_goal if is_trusted(row)}
    for row in of_goal:
        known = reported if row.is_refund else ordered
        if not is_trusted(row) and row.transaction_id is not None and row.transaction_id in known:
            continue
        cents = cents_of(goal, row, project)
        if cents is None:
            continue
        if row.transaction_id is not None and not row.is_refund:
            if row.transaction_id in transactions:
                continue
            transactions.add(row.transaction_id)
        yield row, cents


def _count_values(
    goal: Goal, valued: dict[tuple[str, bool], list[EventRow]], people: dict[str, Person]
) -> None:
    """Count the first event of each value of the field; equal times keep the order of arrival."""
    field = goal.config["field"]
    for (who, is_before), rows in valued.items():
        seen = set()
        for row in sorted(rows, key=lambda row: row.occurred_at):
            attributes = json.loads(row.custom or "{}")
            value = (
                row.transaction_id if field == "transaction_id" else attributes.get(field[len("custom:") :])
            )
            if value is None or row.is_refund or value in seen:
                continue
            seen.add(value)
            if is_before:
                people[who].before[goal.id] += 1
            else:
                people[who].amounts[goal.id].append((moment_of(row.occurred_at), 1))


def _is_in_time(goal: Goal, windows: list[int], since: float) -> bool:
    """Tell whether an event so many days after the exposure is in the goal's days, or in all windows."""
    if goal.measure.word == "retained":
        return bool(goal.tracking["from_day"] <= since < goal.tracking["to_day"] + 1)
    return all(since <= days for days in windows)


def _is_in_order(counting: Counting, key: tuple[str, bool], row: EventRow) -> bool:
    return counting.since is None or counting.since.get(key, row.occurred_at + 1) <= row.occurred_at


def _reach(counting: Counting, key: tuple[str, bool], row: EventRow) -> None:
    if counting.done is not None:
        counting.done[key] = min(row.occurred_at, counting.done.get(key, row.occurred_at))


def _remember(counting: Counting, person: Person, row: EventRow, cents: int, key: str) -> bool:
    """Count an event before the first exposure; tell whether it was in the pre-period."""
    goal, statistics = counting.goal, counting.experiment.statistics
    since = person.first.occurred_at - statistics.pre_period_days * 86_400_000_000
    if not statistics.uses_pre_period or row.occurred_at < since:
        return False
    if not row.is_refund:
        _reach(counting, (key, True), row)
    if goal.goal_type == "revenue":
        person.before[goal.id] += -cents if row.is_refund else cents
    elif goal.measure.word != "converted":
        person.before[goal.id] += amount_of(goal, row, cents, counting.project)
    elif not row.is_refund:
        person.before[goal.id] = 1
    return True


def _is_of(goal: Goal, row: EventRow) -> bool:
    if row.type == "exposure":
        return False
    config = goal.tracking
    if row.type == "conversion":
        if row.goal_id is not None:
            return row.goal_id == goal.id
        named = goal.goal_type in {"custom_event", "ga4_event", "revenue"}
        return named and row.event_name == config["event_name"]
    if goal.goal_type == "pageview":
        return row.type == "pageview" and row.url == config["url"]
    if goal.goal_type == "click":
        return row.type == "click" and row.selector == config["selector"]
    kinds = {"custom_event", "ga4_event"} if goal.goal_type == "revenue" else {goal.goal_type}
    return row.type in kinds and row.event_name == config["event_name"]


def is_late(row: EventRow, experiment: Experiment) -> bool:
    return experiment.completed_at is not None and moment_of(row.received_at) > experiment.completed_at


def moment_of(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def local_date(moment: datetime, project: Project) -> date:
    return moment.astimezone(ZoneInfo(project.timezone)).date()
