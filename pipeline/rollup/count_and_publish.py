"""Counting of due experiments, and replacement of their published results.

Experiments that share rules and progress are counted from one read of their project's events, in one
transaction: all of their results are replaced, or none.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds
from pipeline.rollup.aggregates import add_up, negate, sum_since_exposure, sum_visitors
from pipeline.rollup.counting_rules import CountingRules, extra_columns, fingerprint, period_of
from pipeline.rollup.due import Due, is_over
from pipeline.rollup.read_events import ExperimentRows, ProjectRead
from pipeline.rollup.segment_values import SegmentValues, stored_values
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import read_custom_keys

# Above this share of events of returning visitors, a full count is quicker.
_MAX_TOUCHED_SHARE: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupScope:
    """Extent of a run: a project's events up to `newest_seq`, as of `now`, `at_once` in memory."""

    project_id: str
    newest_seq: int
    now: datetime
    at_once: int


def count_and_publish(warehouse: Warehouse, due: Collection[Due], scope: RollupScope) -> None:
    """Bring due experiments up to `scope` and publish them; published results stay until then.

    Raises DiskFullError, before anything is written, where the disk has less space than is left free.
    """
    groups: dict[tuple[CountingRules, int, int], list[Due]] = defaultdict(list)
    if due:
        warehouse.require_space()
    for due_one in due:
        # Visitors joined after the end stay apart: what arrives later never counts.
        _, last = period_of(due_one.experiment)
        groups[due_one.rules, due_one.covered_seq, last].append(due_one)
    for (rules, covered_seq, last), group in groups.items():
        with EventReader.open(
            warehouse,
            scope.project_id,
            until=scope.newest_seq,
            received_until=last,
            skip_bots=rules.bot_filtering,
        ) as reader:
            touched = _touched_since(reader, covered_seq)
            _count_group(warehouse, reader, group, touched, scope)


class Replacement:
    """Replacement of one experiment's result tables, invisible to readers until its transaction ends."""

    def __init__(self, cursor: Cursor, experiment: Experiment, *, before: Published | None) -> None:
        """Continue from the published results `before`, or start empty; `cursor` is in a transaction."""
        self._cursor = cursor
        self._id = experiment.id
        self._goals = len(experiment.goals)
        self._primary_goal = primary_row(experiment)
        self._last_exposed_at = before.last_exposed_at if before else None
        if before:
            self._values = stored_values(cursor, experiment)
            self._cells = aggregates.read_all(cursor, self._id)
            self._left_out = self._values.dimensions() - set(before.dimensions)
        else:
            columns = extra_columns(experiment)
            visitors.recreate(cursor, self._id, goals=self._goals, extra_columns=columns)
            self._values = SegmentValues(None, read_custom_keys(cursor, experiment.project_id))
            self._cells = add_up([])
            self._left_out = set[str]()

    def remove(self, visitor_keys: pl.Series) -> None:
        """Remove these visitors and their share of the sums."""
        rows, orders = visitors.remove(self._cursor, self._id, visitor_keys)
        self._cells = add_up([self._cells, negate(self._cells_of(rows, orders))])

    def add(self, counted: ExperimentRows) -> None:
        """Add visitors without rows so far."""
        rows = self._values.encode(counted.visitors)
        visitors.add(self._cursor, self._id, rows, counted.orders)
        self._cells = add_up([self._cells, self._cells_of(rows, counted.orders)])
        self._last_exposed_at = _latest([self._last_exposed_at, counted.last_exposed_at])

    def publish(self, published: Published) -> None:
        """Write the results; the last exposure and the dimensions of `published` are filled in here."""
        dimensions = self._summed_dimensions()
        own = (aggregates.EVERYONE, aggregates.SINCE_EXPOSURE)
        kept = self._cells.filter(pl.col("dimension").is_in([*own, *dimensions]))
        visitors.write_values(self._cursor, self._id, self._values.table())
        aggregates.replace(self._cursor, self._id, kept)
        published_rollups.publish(
            self._cursor,
            published._replace(last_exposed_at=self._last_exposed_at, dimensions=tuple(sorted(dimensions))),
        )

    def _cells_of(self, rows: pl.DataFrame, orders: pl.DataFrame) -> pl.DataFrame:
        cells = sum_visitors(rows, orders, self._goals, self._values, self._summed_dimensions())
        if self._primary_goal is None:
            return cells
        # The two have no dimension in common.
        return pl.concat([cells, sum_since_exposure(rows, self._primary_goal)])

    def _summed_dimensions(self) -> set[str]:
        """List the dimensions to sum up: one left out once lacks visitors, so it stays out."""
        self._left_out |= self._values.dimensions() - self._values.small_dimensions()
        return self._values.dimensions() - self._left_out


def _latest(moments: Iterable[int | None]) -> int | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _touched_since(reader: EventReader, covered_seq: int) -> pl.Series | None:
    """Find the keys of visitors to count again; None for all visitors."""
    if covered_seq == 0:
        return None
    return reader.keep_to_visitors_since(covered_seq, most_share=_MAX_TOUCHED_SHARE)


def _count_group(
    warehouse: Warehouse,
    reader: EventReader,
    group: Sequence[Due],
    touched: pl.Series | None,
    scope: RollupScope,
) -> None:
    experiments = [due.experiment for due in group]
    project_read = ProjectRead(reader, experiments, group[0].rules, at_once=scope.at_once)
    with warehouse.transaction() as cursor:
        replacements = [
            Replacement(cursor, due.experiment, before=None if touched is None else due.before)
            for due in group
        ]
        if touched is not None:
            for replacement in replacements:
                replacement.remove(touched)
        for bucket in project_read:
            for replacement, rows in zip(replacements, bucket, strict=True):
                replacement.add(rows)
        for replacement, due in zip(replacements, group, strict=True):
            replacement.publish(_record(due, scope))


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
