"""Erasure of a person from a project: the events go, and results are counted as if they had never come."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from pipeline.rollup.count_and_publish import MAX_TOUCHED_SHARE, RollupScope, count_group
from pipeline.rollup.counting_rules import CountingRules, period_of
from pipeline.rollup.due import Due
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.erasure.erased_events import (
    blank_unused_values,
    find_events,
    remove_events,
    remove_rows,
)
from pipeline.store.warehouse.erasure.person_ids import PersonIds, find_person
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.incremental import identity_links


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonErased:
    """What was erased: ids and events of a person, and ids of the experiments in which it had a row.

    Those of `recounted` are counted again; completed ones keep their sums.
    """

    person: PersonIds
    events: int
    recounted: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTarget:
    """The person with a visitor id, or a user id, of that key, and the published experiments of its project.

    `open_ones` have results that still change, all of them up to date, and `final_ids` the others.
    """

    key: int
    is_user: bool
    open_ones: Collection[Due]
    final_ids: Collection[str]


def erase_person(warehouse: Warehouse, target: ErasureTarget, scope: RollupScope) -> PersonErased:
    """Remove a person's events up to `scope`, and change the results of the target's experiments.

    Where the process ends in between, the next run counts the experiments from the first event on.
    """
    project_id, until = scope.project_id, scope.newest_seq
    warehouse.require_space()
    with warehouse.transaction() as cursor:
        identity_links.update(cursor, project_id, until, anew=False)
    with warehouse.cursor() as cursor:
        person = find_person(cursor, project_id, target.key, is_user=target.is_user, until=until)
        found = find_events(cursor, project_id, person, until=until)
    keys = pl.concat([person.all_keys, found.related_keys]).unique()
    groups = _by_rules_and_end(target.open_ones)
    before = {}
    for rules, last in groups:
        # Ids that are linked today may not be afterwards, and the other way round.
        with _opened(warehouse, scope, rules, last) as reader:
            before[rules, last] = reader.linked_keys(keys)
    with warehouse.transaction() as cursor:
        find_events(cursor, project_id, person, until=until)
        remove_events(cursor, project_id)
        kept = remove_rows(cursor, target.final_ids, person)
        published_rollups.require_recount(cursor, [one.experiment.id for one in target.open_ones])
    recounted = list[str]()
    for (rules, last), group in groups.items():
        with _opened(warehouse, scope, rules, last) as reader:
            touched = reader.keep_to_visitors(before[rules, last], most_share=MAX_TOUCHED_SHARE)
            count_group(warehouse, reader, group, touched, scope)
        recounted += [due.experiment.id for due in group]
    for experiment_id in recounted:
        with warehouse.transaction() as cursor:
            blank_unused_values(cursor, experiment_id)
    return PersonErased(person=person, events=found.events, recounted=tuple(recounted), kept=tuple(kept))


def _by_rules_and_end(group: Collection[Due]) -> Mapping[tuple[CountingRules, int], list[Due]]:
    groups: dict[tuple[CountingRules, int], list[Due]] = defaultdict(list)
    for due in group:
        _, last = period_of(due.experiment)
        groups[due.rules, last].append(due)
    return groups


@contextmanager
def _opened(
    warehouse: Warehouse, scope: RollupScope, rules: CountingRules, last: int
) -> Iterator[EventReader]:
    with EventReader.open(
        warehouse,
        scope.project_id,
        until=scope.newest_seq,
        received_until=last,
        skip_bots=rules.bot_filtering,
    ) as reader:
        yield reader
