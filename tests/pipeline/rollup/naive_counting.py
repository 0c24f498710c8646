"""The counting rules once more, event by event in plain Python: slow, and easy to check against the rules."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from engine.design.experiment import Experiment, Goal
from engine.design.project import Project
from engine.design.units import is_clustered, unit_attribute
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import identities
from tests.pipeline.rollup.naive_money import amount_of, cents_of, known_value
from tests.pipeline.rollup.naive_segments import complete_first

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Person:
    """What one visitor comes to in one experiment."""

    first: EventRow
    variants: set[str]
    by_device: dict[str, set[str]]
    converted: dict[str, datetime] = field(default_factory=dict)
    orders: dict[str, list[tuple[datetime, int]]] = field(default_factory=lambda: defaultdict(list))
    before: dict[str, float] = field(default_factory=lambda: defaultdict(int))
    purchases: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    amounts: dict[str, list[tuple[datetime, float]]] = field(default_factory=lambda: defaultdict(list))
    denominators: dict[str, list[tuple[datetime, float]]] = field(default_factory=lambda: defaultdict(list))
    steps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    units: set[str | None] = field(default_factory=set)

    @property
    def unit(self) -> str | None:
        """The unit of a person who has one."""
        (unit,) = self.units
        return unit


@dataclass
class Tally:
    """The people of one experiment: by variant, those set aside by one device or by several, the flagged."""

    people: list[Person]
    several: int
    conflicts: int
    bots: int
    # Where units are compared: people of units of several variants, of several units, and of none.
    of_several: int = 0
    in_several: int = 0
    in_none: int = 0


def tally(
    rows: Sequence[EventRow],
    experiment: Experiment,
    project: Project,
    admits: Callable[[EventRow], bool] = lambda _: True,
) -> Tally:
    """Count `rows`, given in order of arrival, keeping the people whose first exposure is admitted."""
    once = list(_once([row for row in rows if row.not_counted is None], experiment))
    person_of = persons([row for row in rows if not _is_late(row, experiment)])
    exposed: dict[str, list[EventRow]] = defaultdict(list)
    for row in once:
        if row.type == "exposure" and row.experiment_id == experiment.id and _in_period(row, experiment):
            exposed[person_of(row)].append(row)
    in_time: dict[str, list[EventRow]] = defaultdict(list)
    for row in rows:
        if not _is_late(row, experiment):
            in_time[person_of(row)].append(row)
    everyone: dict[str, Person] = {}
    bots = 0
    for visitor, seen in exposed.items():
        counted = [row for row in seen if not (row.is_bot and project.bot_filtering)]
        first = min(counted or seen, key=lambda row: row.occurred_at)
        first = complete_first(first, in_time[visitor], rows)
        if not counted:
            bots += admits(first)
            continue
        by_device: dict[str, set[str]] = defaultdict(set)
        for row in counted:
            by_device[str(row.visitor_id)].add(str(row.variant_id))
        units = {_unit_of(row, experiment) for row in [*counted, first]} - {None}
        everyone[visitor] = Person(first, set().union(*by_device.values()), by_device, units=units)
    found = {visitor: person for visitor, person in everyone.items() if admits(person.first)}
    mixed = _mixed_units(everyone.values())
    clean = {visitor: person for visitor, person in found.items() if _is_clean(person, experiment, mixed)}
    for goal in experiment.goals:
        count = {"ratio": _divide, "funnel": _step_by_step}.get(goal.measure.word, _convert)
        count(_Counting(goal, experiment, project), once, person_of, clean)
    if is_clustered(experiment.unit):
        return _of_units(list(found.values()), list(clean.values()), mixed, bots)
    several = [any(len(seen) > 1 for seen in found[one].by_device.values()) for one in found.keys() - clean]
    return Tally(list(clean.values()), sum(several), len(several) - sum(several), bots)


def _mixed_units(people: Iterable[Person]) -> set[str | None]:
    """Return the units of several variants; what people of several units saw says nothing of them."""
    shown: dict[str | None, set[str]] = defaultdict(set)
    for person in people:
        if len(person.units) == 1:
            shown[person.unit] |= person.variants
    return {unit for unit, variants in shown.items() if len(variants) > 1}


def _is_clean(person: Person, experiment: Experiment, mixed: set[str | None]) -> bool:
    if not is_clustered(experiment.unit):
        return len(person.variants) == 1
    return len(person.units) == 1 and person.unit not in mixed


def _of_units(found: list[Person], clean: list[Person], mixed: set[str | None], bots: int) -> Tally:
    apart = [person.unit for person in found if len(person.units) == 1 and person.unit in mixed]
    return Tally(
        clean,
        several=len(set(apart)),
        conflicts=0,
        bots=bots,
        of_several=len(apart),
        in_several=sum(len(person.units) > 1 for person in found),
        in_none=sum(not person.units for person in found),
    )


def _unit_of(row: EventRow, experiment: Experiment) -> str | None:
    key = unit_attribute(experiment.unit)
    return row.user_id if key is None else json.loads(row.custom or "{}").get(key)


def _once(rows: Sequence[EventRow], experiment: Experiment) -> Iterator[EventRow]:
    """Yield the first row of each id, a trusted one rather than others unless it came after the end."""
    in_time = {row.event_id for row in rows if _is_trusted(row) and not _is_late(row, experiment)}
    seen = set()
    for row in rows:
        id_and_rank = (row.event_id, _is_trusted(row))
        outranked = not _is_trusted(row) and row.event_id in in_time
        if id_and_rank not in seen and not outranked:
            seen.add(id_and_rank)
            yield row


def _is_trusted(row: EventRow) -> bool:
    return row.sender in {"server", "import"}


def _is_late(row: EventRow, experiment: Experiment) -> bool:
    return experiment.completed_at is not None and _moment(row.received_at) > experiment.completed_at


def _links(rows: Sequence[EventRow]) -> Iterator[tuple[bool, str, str]]:
    """Yield whether a server tells it, the user and the visitor, in the order of arrival."""
    users = {row.user_id for row in rows if row.visitor_id is not None}
    for row in rows:
        if row.visitor_id is not None and row.user_id is not None:
            yield _is_trusted(row), row.user_id, row.visitor_id
        if row.visitor_id is not None and row.visitor_id in users and _is_trusted(row):
            yield True, row.visitor_id, row.visitor_id


def persons(rows: Sequence[EventRow]) -> Callable[[EventRow], str]:
    """Return the function that names the person of an event, by the first visitor id of its user."""
    links = list(_links(rows))
    linked: dict[str, dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for is_trusted, user, visitor in links:
        seen = linked[user][is_trusted]
        seen += [] if visitor in seen else [visitor]
    counting = {user: seen[True] or seen[False] for user, seen in linked.items()}
    joined = {user: seen for user, seen in counting.items() if len(seen) <= identities.MAX_VISITORS_OF_USER}
    owner: dict[str, str] = {}
    for trusted in (True, False):
        for is_trusted, user, visitor in links:
            if user in joined and is_trusted == trusted == bool(linked[user][True]):
                owner.setdefault(visitor, user)
    own = {user: [visitor for visitor in seen if owner[visitor] == user] for user, seen in joined.items()}

    def person_of(row: EventRow) -> str:
        if row.visitor_id is None and row.user_id in joined:
            return own[(own[row.user_id] and row.user_id) or owner[joined[row.user_id][0]]][0]
        key = row.visitor_id or str(row.user_id)
        return own[owner[key]][0] if key in owner else key

    return person_of


def _in_period(row: EventRow, experiment: Experiment) -> bool:
    received = EPOCH + timedelta(microseconds=row.received_at)
    assert experiment.started_at is not None
    return experiment.started_at <= received and (
        experiment.completed_at is None or received <= experiment.completed_at
    )


class _Counting(NamedTuple):
    """A goal to count; of a funnel, `since` is when each visitor reached the step before, and `done` this."""

    goal: Goal
    experiment: Experiment
    project: Project
    since: dict[tuple[str, bool], int] | None = None
    done: dict[tuple[str, bool], int] | None = None


def _step_by_step(
    counting: _Counting,
    once: Iterable[EventRow],
    person_of: Callable[[EventRow], str],
    people: dict[str, Person],
) -> None:
    """Count each step of a funnel as a goal, by the events since the step before."""
    goal = counting.goal
    window = {key: goal.config[key] for key in ("window",) if key in goal.config}
    since = None
    for step in goal.tracking["steps"]:
        config = {key: value for key, value in step.items() if key != "goal_type"}
        apart = {who: Person(one.first, one.variants, one.by_device) for who, one in people.items()}
        of_step = replace(
            goal, id="a step", goal_type=step["goal_type"], is_primary=False, config={**config, **window}
        )
        done: dict[tuple[str, bool], int] = {}
        _convert(counting._replace(goal=of_step, since=since, done=done), once, person_of, apart)
        since = done
        for who, one in people.items():
            one.steps[goal.id] += (who, False) in done
    config = {key: value for key, value in goal.config.items() if key not in {"measure", "steps"}}
    _convert(counting._replace(goal=replace(goal, config=config), since=since), once, person_of, people)
    for one in people.values():
        one.steps[goal.id] += goal.id in one.converted


def _divide(
    counting: _Counting,
    once: Iterable[EventRow],
    person_of: Callable[[EventRow], str],
    people: dict[str, Person],
) -> None:
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
    _convert(counting._replace(goal=above), once, person_of, people)
    apart = {visitor: Person(one.first, one.variants, one.by_device) for visitor, one in people.items()}
    _convert(counting._replace(goal=below), once, person_of, apart)
    for visitor, person in people.items():
        person.converted.pop(goal.id, None)
        person.denominators[goal.id] = apart[visitor].amounts[below.id]
        if below.id in apart[visitor].converted:
            person.converted[goal.id] = apart[visitor].converted[below.id]


def _convert(
    counting: _Counting,
    once: Iterable[EventRow],
    person_of: Callable[[EventRow], str],
    people: dict[str, Person],
) -> None:
    goal, _, project = counting[:3]
    windows = [days for days in (project.attribution_window_days, goal.config.get("window")) if days]
    # The events that count with their values, of a visitor before and since the first exposure.
    valued: dict[tuple[str, bool], list[EventRow]] = defaultdict(list)
    for row, cents in _of_goal(counting, once):
        person = people.get(person_of(row))
        key = person_of(row), person is not None and row.occurred_at < person.first.occurred_at
        if person is None or not _is_in_order(counting, key, row):
            continue
        if row.occurred_at < person.first.occurred_at:
            if _remember(counting, person, row, cents, key[0]):
                valued[key].append(row)
            continue
        if not _is_in_time(goal, windows, (row.occurred_at - person.first.occurred_at) / 86_400_000_000):
            continue
        valued[key].append(row)
        moment = _moment(row.occurred_at)
        person.orders[goal.id].append((moment, -cents if row.is_refund else cents))
        person.amounts[goal.id].append((moment, amount_of(goal, row, cents, counting.project)))
        value = known_value(goal, row, cents, project) if goal.measure.is_quantile else None
        person.values[goal.id] += [] if value is None else [value]
        if not row.is_refund:
            _reach(counting, key, row)
            person.purchases[goal.id] += 1
            person.converted[goal.id] = min(moment, person.converted.get(goal.id, moment))

    if goal.measure.word == "distinct":
        _count_values(goal, valued, people)


def _of_goal(counting: _Counting, once: Iterable[EventRow]) -> Iterator[tuple[EventRow, int]]:
    """Yield the events of a goal with their money, but for orders that others of the transaction outrank."""
    goal, experiment, project = counting[:3]
    transactions = set()
    of_goal = [
        row
        for row in once
        if not (_is_late(row, experiment) or (row.is_bot and project.bot_filtering)) and _is_of(goal, row)
    ]
    ordered = {row.transaction_id for row in of_goal if _is_trusted(row) and not row.is_refund}
    reported = {row.transaction_id for row in of_goal if _is_trusted(row)}
    for row in of_goal:
        known = reported if row.is_refund else ordered
        if not _is_trusted(row) and row.transaction_id is not None and row.transaction_id in known:
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
                people[who].amounts[goal.id].append((_moment(row.occurred_at), 1))


def _is_in_time(goal: Goal, windows: list[int], since: float) -> bool:
    """Tell whether an event so many days after the exposure is in the goal's days, or in all windows."""
    if goal.measure.word == "retained":
        return bool(goal.tracking["from_day"] <= since < goal.tracking["to_day"] + 1)
    return all(since <= days for days in windows)


def _is_in_order(counting: _Counting, key: tuple[str, bool], row: EventRow) -> bool:
    return counting.since is None or counting.since.get(key, row.occurred_at + 1) <= row.occurred_at


def _reach(counting: _Counting, key: tuple[str, bool], row: EventRow) -> None:
    if counting.done is not None:
        counting.done[key] = min(row.occurred_at, counting.done.get(key, row.occurred_at))


def _remember(counting: _Counting, person: Person, row: EventRow, cents: int, key: str) -> bool:
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


def _moment(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def local_date(moment: datetime, project: Project) -> date:
    return moment.astimezone(ZoneInfo(project.timezone)).date()
