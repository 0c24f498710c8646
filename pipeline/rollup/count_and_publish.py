"""How due experiments are counted: those that share rules and progress together, in one transaction.

How an experiment's results are replaced: all of them in the transaction that is under way, or none.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.design.experiment import Experiment
from engine.local_days import epoch_microseconds
from pipeline.rollup.aggregates import add_up, cells_of, cells_since_exposure, taken_away
from pipeline.rollup.counting_rules import CountingRules, fingerprint, values_told
from pipeline.rollup.due import Due, is_over
from pipeline.rollup.read_events import ExperimentRows, ProjectRead
from pipeline.rollup.segment_values import SegmentValues
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.event_reader import EventReads
from pipeline.store.warehouse.published import Published


class Replacement:
    """An experiment's result tables in the making, seen by nobody until the transaction ends."""

    def __init__(self, cursor: Cursor, experiment: Experiment, *, before: Published | None) -> None:
        """Go on from what is published `before`, or start from nothing; `cursor` is in a transaction."""
        self._cursor = cursor
        self._id = experiment.id
        self._goals = len(experiment.goals)
        self._followed = primary_row(experiment)
        self._last_exposed_at = before.last_exposed_at if before else None
        if before:
            self._values = SegmentValues(visitors.read_values(cursor, self._id))
            self._cells = aggregates.read_all(cursor, self._id)
            self._left_out = self._values.dimensions() - set(before.dimensions)
        else:
            visitors.recreate(cursor, self._id, goals=self._goals, told=values_told(experiment))
            self._values = SegmentValues()
            self._cells = add_up([])
            self._left_out = set[str]()

    def take_out(self, visitor_keys: pl.Series) -> None:
        """Remove those visitors, and what they added to the sums."""
        rows, orders = visitors.take_out(self._cursor, self._id, visitor_keys)
        self._cells = add_up([self._cells, taken_away(self._cells_of(rows, orders))])

    def add(self, counted: ExperimentRows) -> None:
        """Add visitors who have no rows yet."""
        rows = self._values.encode(counted.visitors)
        visitors.add(self._cursor, self._id, rows, counted.orders)
        self._cells = add_up([self._cells, self._cells_of(rows, counted.orders)])
        self._last_exposed_at = _latest([self._last_exposed_at, counted.last_exposed_at])

    def publish(self, published: Published) -> None:
        """Write down what is new; `published` says it all but for what is known only here."""
        dimensions = self._summed_up()
        own = (aggregates.EVERYONE, aggregates.SINCE_EXPOSURE)
        kept = self._cells.filter(pl.col("dimension").is_in([*own, *dimensions]))
        visitors.write_values(self._cursor, self._id, self._values.table())
        aggregates.replace(self._cursor, self._id, kept)
        published_rollups.publish(
            self._cursor,
            published._replace(last_exposed_at=self._last_exposed_at, dimensions=tuple(sorted(dimensions))),
        )

    def _cells_of(self, rows: pl.DataFrame, orders: pl.DataFrame) -> pl.DataFrame:
        cells = cells_of(rows, orders, self._goals, self._values, self._summed_up())
        if self._followed is None:
            return cells
        # No two of them are of the same dimension.
        return pl.concat([cells, cells_since_exposure(rows, self._followed)])

    def _summed_up(self) -> set[str]:
        """The dimensions to sum up: once left out, some visitors are missing, so it stays out."""
        self._left_out |= self._values.dimensions() - self._values.small_dimensions()
        return self._values.dimensions() - self._left_out


def _latest(moments: Iterable[int | None]) -> int | None:
    return max((moment for moment in moments if moment is not None), default=None)


# Where visitors who came back have more than this share of all events, counting everything is quicker.
_MOST_TOUCHED: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupScope:
    """How far a run counts: a project's events up to `newest_seq`, known at `now`, `at_once` in memory."""

    project_id: str
    newest_seq: int
    now: datetime
    at_once: int


def count(warehouse: Warehouse, due: Iterable[Due], extent: RollupScope) -> None:
    """Bring what is due up to `extent`, and publish it; what was published stays until then."""
    together: dict[tuple[CountingRules, int], list[Due]] = defaultdict(list)
    for one in due:
        together[one.rules, one.covered_seq].append(one)
    for (rules, covered), group in together.items():
        opened = EventReads.open(
            warehouse, extent.project_id, until=extent.newest_seq, skip_bots=rules.bot_filtering
        )
        with opened as reads:
            touched = _touched_since(reads, covered)
            _count_together(warehouse, reads, group, touched, extent)


def _touched_since(reads: EventReads, covered: int) -> pl.Series | None:
    """The visitors to count anew; None for all of them."""
    if covered == 0:
        return None
    events = reads.count()
    visitors = reads.keep_to_visitors_since(covered)
    if reads.count() <= _MOST_TOUCHED * events:
        return visitors
    reads.keep_to_all()
    return None


def _count_together(
    warehouse: Warehouse,
    reads: EventReads,
    group: Sequence[Due],
    touched: pl.Series | None,
    extent: RollupScope,
) -> None:
    rules = group[0].rules
    reading = ProjectRead(reads, [one.experiment for one in group], rules, at_once=extent.at_once)
    with warehouse.transaction() as cursor:
        publications = [
            Replacement(cursor, one.experiment, before=None if touched is None else one.before)
            for one in group
        ]
        if touched is not None:
            for publication in publications:
                publication.take_out(touched)
        for bucket in reading:
            for publication, counted in zip(publications, bucket, strict=True):
                publication.add(counted)
        for publication, one in zip(publications, group, strict=True):
            publication.publish(_record(one, extent))


def _record(due: Due, extent: RollupScope) -> Published:
    return Published(
        experiment_id=due.experiment.id,
        fingerprint=fingerprint(due.experiment, due.rules),
        rules=due.rules.to_json(),
        covered_seq=extent.newest_seq,
        as_of=epoch_microseconds(extent.now),
        last_exposed_at=None,
        variants=tuple(variant.id for variant in due.experiment.variants),
        goals=tuple(goal.id for goal in due.experiment.goals),
        dimensions=(),
        is_final=is_over(due.experiment, extent.now),
    )
