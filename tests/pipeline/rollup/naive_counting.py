"""The counting rules once more, event by event in plain Python: slow, and easy to check against the rules."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.units import is_clustered, unit_attribute
from pipeline.store.event_columns import EventRow
from tests.pipeline.rollup.naive_goals import Counting, Events, count_goal, is_late, moment_of
from tests.pipeline.rollup.naive_persons import Person, is_trusted, persons
from tests.pipeline.rollup.naive_segments import complete_first


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
    person_of = persons([row for row in rows if not is_late(row, experiment)])
    exposed: dict[str, list[EventRow]] = defaultdict(list)
    for row in once:
        if row.type == "exposure" and row.experiment_id == experiment.id and _in_period(row, experiment):
            exposed[person_of(row)].append(row)
    in_time: dict[str, list[EventRow]] = defaultdict(list)
    for row in rows:
        if not is_late(row, experiment):
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
        count_goal(Counting(goal, experiment, project), Events(once, person_of, clean))
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
    in_time = {row.event_id for row in rows if is_trusted(row) and not is_late(row, experiment)}
    seen = set()
    for row in rows:
        id_and_rank = (row.event_id, is_trusted(row))
        outranked = not is_trusted(row) and row.event_id in in_time
        if id_and_rank not in seen and not outranked:
            seen.add(id_and_rank)
            yield row


def _in_period(row: EventRow, experiment: Experiment) -> bool:
    received = moment_of(row.received_at)
    assert experiment.started_at is not None
    return experiment.started_at <= received and (
        experiment.completed_at is None or received <= experiment.completed_at
    )
