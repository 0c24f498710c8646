"""How an experiment's results are replaced: all of them in the transaction that is under way, or none."""

from collections.abc import Iterable

import polars as pl

from engine.analysis.comparison.metrics import primary_row
from engine.design.experiment import Experiment
from pipeline.rollup.aggregates import add_up, cells_of, cells_since_exposure, taken_away
from pipeline.rollup.reading import Counted
from pipeline.rollup.rules import values_told
from pipeline.rollup.segments import SegmentValues
from pipeline.store import aggregates, rollups, visitors
from pipeline.store.frames import Cursor
from pipeline.store.rollups import Published


class Publication:
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

    def add(self, counted: Counted) -> None:
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
        rollups.publish(
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
