"""Erasure of a person from a project: the events go, and results are counted as if they had never come."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from pipeline.rollup.count_and_publish import MAX_TOUCHED_SHARE, RollupScope, count_group
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due, by_rules_and_end
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse import visitor_totals
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.erasure.erased_events import find_related, list_events
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson, describe_person
from pipeline.store.warehouse.erasure.person_ids import find_person
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.incremental import identity_links


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureTarget:
    """The person with a visitor id, or a user id, of that key, and the published experiments of its project.

    `open_ones` have results that still change, all of them up to date, and `final_ids` the others.
    """

    key: int
    is_user: bool
    open_ones: Collection[Due]
    final_ids: Collection[str]


def look_for_person(warehouse: Warehouse, target: ErasureTarget, scope: RollupScope) -> ErasedPerson:
    """Describe what is stored of a person up to `scope`; nothing is changed."""
    with warehouse.transaction() as cursor:
        identity_links.update(cursor, scope.project_id, scope.newest_seq, anew=False)
    with warehouse.transaction() as cursor:
        return _describe(cursor, target, scope)


def erase_person(
    warehouse: Warehouse,
    target: ErasureTarget,
    scope: RollupScope,
    remove: Callable[[Cursor, ErasedPerson], None],
) -> ErasedPerson:
    """Remove a person's events up to `scope`, and change the results of the target's experiments.

    `remove` removes the person from all other tables, in the same transaction. Where the process ends after
    it, the next run counts the experiments from the first event on.
    """
    project_id, until = scope.project_id, scope.newest_seq
    warehouse.require_space()
    with warehouse.transaction() as cursor:
        keys = _describe(cursor, target, scope).person.all_keys
        related = find_related(cursor, project_id, until=until)
    keys = pl.concat([keys, related]).unique()
    groups = by_rules_and_end(target.open_ones)
    before = {}
    for rules, last in groups:
        # Ids that are linked today may not be afterwards, and the other way round.
        with _opened(warehouse, scope, rules, last) as reader:
            before[rules, last] = reader.linked_keys(keys)
    with warehouse.transaction() as cursor:
        erased = _describe(cursor, target, scope)
        remove(cursor, erased)
        visitor_totals.forget(cursor, project_id)
        published_rollups.require_recount(cursor, [one.experiment.id for one in target.open_ones])
    for (rules, last), group in groups.items():
        with _opened(warehouse, scope, rules, last) as reader:
            touched = reader.keep_to_visitors(before[rules, last], most_share=MAX_TOUCHED_SHARE)
            count_group(warehouse, reader, group, touched, scope)
    return erased


def _describe(cursor: Cursor, target: ErasureTarget, scope: RollupScope) -> ErasedPerson:
    project_id, until = scope.project_id, scope.newest_seq
    person = find_person(cursor, project_id, target.key, is_user=target.is_user, until=until)
    return describe_person(
        cursor,
        project_id,
        person,
        until=until,
        events=list_events(cursor, project_id, person, until=until),
        open_ids=[one.experiment.id for one in target.open_ones],
        final_ids=target.final_ids,
    )


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
