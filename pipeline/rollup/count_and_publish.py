"""Counting of due experiments, and replacement of their published results.

Experiments that share rules and progress are counted from one read of their project's events, in one
transaction: all of their results are replaced, or none.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from engine.local_days import epoch_microseconds
from pipeline.rollup import kept_totals
from pipeline.rollup.counting_rules import CountingRules, fingerprint, period_of
from pipeline.rollup.due import Due, is_over
from pipeline.rollup.partitions import partition_files
from pipeline.rollup.read_events import ProjectRead
from pipeline.rollup.result_tables import ResultTables
from pipeline.store.warehouse import event_digests
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.incremental import event_keys, identity_links
from pipeline.store.warehouse.published import Published

# Above this share of events of returning visitors, a full count is quicker.
MAX_TOUCHED_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupScope:
    """Extent of a run: a project's events up to `newest_seq`, as of `now`, `at_once` in memory."""

    project_id: str
    newest_seq: int
    now: datetime
    at_once: int


def count_and_publish(warehouse: Warehouse, due: Collection[Due], scope: RollupScope) -> dict[str, Published]:
    """Bring due experiments up to `scope` and publish them; published results stay until then.

    Return the new records of experiments of which nothing else has changed, by id.
    Raises DiskFullError, before anything is written, where the disk has less space than is left free.
    """
    groups: dict[tuple[CountingRules, int, int], list[Due]] = defaultdict(list)
    if due:
        warehouse.require_space()
        is_recount = any(one.covered_seq == 0 for one in due)
        with warehouse.transaction() as cursor:
            identity_links.update(cursor, scope.project_id, scope.newest_seq, anew=is_recount)
            event_digests.cover(cursor, scope.project_id, scope.newest_seq)
    for due_one in due:
        # Visitors joined after the end stay apart: what arrives later never counts.
        _, last = period_of(due_one.experiment)
        groups[due_one.rules, due_one.covered_seq, last].append(due_one)
    covered: dict[str, Published] = {}
    for (rules, covered_seq, last), group in groups.items():
        with EventReader.open(
            warehouse,
            scope.project_id,
            until=scope.newest_seq,
            received_until=last,
            skip_bots=rules.bot_filtering,
        ) as reader:
            touched = _touched_since(reader, covered_seq)
            # Of the others no row changes: without an exposure a visitor has none.
            exposed = None if touched is None else reader.exposed_experiments()
            covered |= count_group(warehouse, reader, group, touched, scope, only=exposed)
    if due:
        event_keys.catch_up(warehouse, scope.project_id, until=scope.newest_seq)
    return covered


def _touched_since(reader: EventReader, covered_seq: int) -> pl.Series | None:
    """Find the keys of visitors to count again; None for all visitors."""
    if covered_seq == 0:
        return None
    return reader.keep_to_visitors_since(covered_seq, most_share=MAX_TOUCHED_SHARE)


def count_group(  # noqa: PLR0913 # what is counted, of whom, and how far
    warehouse: Warehouse,
    reader: EventReader,
    group: Sequence[Due],
    touched: pl.Series | None,
    scope: RollupScope,
    *,
    only: Collection[str] | None = None,
) -> dict[str, Published]:
    """Count the `touched` visitors of experiments that share rules and an end, or all, and publish them.

    With `only`, the rows of those experiments alone may change. Return the new records of the others, by id.
    """
    counted = [due for due in group if only is None or due.experiment.id in only]
    others = [] if only is None else [due for due in group if due.experiment.id not in only]
    covered = [covered_record(due, scope) for due in others]
    experiments = [due.experiment for due in counted]
    with partition_files(warehouse.path.parent) as folder, warehouse.transaction() as cursor:
        if counted:
            read = ProjectRead(reader, experiments, group[0].rules, at_once=scope.at_once, folder=folder)
            tables = ResultTables(cursor, counted, is_recount=touched is None)
            if touched is None:
                tables.recount(read)
            else:
                changes = tables.update(touched, read)
                kept_totals.change(cursor, scope.project_id, experiments, changes, exposed=only or ())
            tables.publish([_record(due, scope) for due in counted])
        published_rollups.cover(cursor, covered)
    return {one.experiment_id: one for one in covered}


def covered_record(due: Due, scope: RollupScope) -> Published:
    """Return the record of results that count the events of `scope`, too, as they are."""
    if due.before is None:
        raise ValueError(f"nothing is published of {due.experiment.id}")
    return due.before._replace(
        covered_seq=scope.newest_seq,
        as_of=epoch_microseconds(scope.now),
        is_final=is_over(due.experiment, scope.now),
    )


def _record(due: Due, scope: RollupScope) -> Published:
    return Published(
        experiment_id=due.experiment.id,
        fingerprint=fingerprint(due.experiment, due.rules),
        rules=due.rules.to_json(),
        covered_seq=scope.newest_seq,
        as_of=epoch_microseconds(scope.now),
        last_exposed_at=None,
        variants=tuple(variant.id for variant in due.experiment.variants),
        goals=tuple(goal.id for goal in due.experiment.goals),
        dimensions=(),
        is_final=is_over(due.experiment, scope.now),
    )
