"""Result tables of several experiments, written in one transaction: visitors, orders, values and sums."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import polars as pl

from engine.analysis.comparison.plan import primary_row
from engine.design.experiment import Experiment
from engine.design.units import is_clustered
from pipeline.rollup import changed_extremes, kept_totals
from pipeline.rollup.aggregates import (
    add_up,
    negate,
    of_experiment,
    sum_since_exposure,
    sum_visitors,
)
from pipeline.rollup.changed_rows import RowChanges, VisitorRows, changed_rows, concat_rows
from pipeline.rollup.counting_rules import extra_columns
from pipeline.rollup.due import Due
from pipeline.rollup.goals.summed_goals import kept_goals
from pipeline.rollup.read_events import CountedVisitors
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import aggregates, extremes, stored_visitors, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import read_custom_keys

# Sums with more rows than this are written anew, with one row a cell.
_MOST_ROWS: Final = 100_000
_DIMENSION: Final = ("experiment", "dimension")
# Visitor rows that are summed up at once.
_ROWS_AT_ONCE: Final = 500_000


class ResultTables:
    """Result tables of experiments, invisible to readers until the transaction of `cursor` ends."""

    def __init__(self, cursor: Cursor, group: Sequence[Due], *, is_recount: bool) -> None:
        """Start with empty tables in a recount, otherwise continue with the published ones."""
        self._cursor = cursor
        self._experiments = [due.experiment for due in group]
        self._ids = [experiment.id for experiment in self._experiments]
        self._kept_goals = [
            kept_goals(one, [goal.id for goal in one.goals], variants=len(one.variants))
            for one in self._experiments
        ]
        befores = [None if is_recount else due.before for due in group]
        self._last_exposed_at = [before.last_exposed_at if before else None for before in befores]
        known = None if is_recount else stored_visitors.read_values_of(cursor, self._ids)
        self._codes = SegmentCodes(known, read_custom_keys(cursor, self._experiments[0].project_id))
        self._left_out = self._codes.dimensions().join(_summed(befores), on=_DIMENSION, how="anti")

    def recount(self, buckets: Iterable[CountedVisitors]) -> None:
        """Write the visitors in `buckets`, which have all of each experiment, and their sums."""
        kept_totals.recount(self._cursor, self._experiments[0].project_id, self._experiments)
        for one in self._experiments:
            visitors.recreate(
                self._cursor,
                one.id,
                goals=len(one.goals),
                extra_columns=extra_columns(one),
                has_units=is_clustered(one.unit),
            )
        cells = add_up([])
        for bucket in buckets:
            counted = self._encode(bucket)
            self._add(counted)
            cells = add_up([cells, self._sum(counted.signed(1))])
        kept = dict(_by_experiment(cells.join(self._left_out, on=_DIMENSION, how="anti")))
        nothing = cells.clear().drop("experiment")
        for number, experiment_id in enumerate(self._ids):
            aggregates.replace(self._cursor, experiment_id, kept.get(number, nothing))
            extremes.fill(self._cursor, experiment_id, self._kept_goals[number])

    def update(self, touched: pl.Series, buckets: Iterable[CountedVisitors]) -> RowChanges:
        """Replace the rows of `touched` visitors by those in `buckets`, and change the sums accordingly."""
        former, counted = self._before_and_after(touched, buckets)
        removed, added = changed_rows(former, counted)
        self._remove(removed)
        self._add(added)
        changed_extremes.change(self._cursor, self._ids, self._kept_goals, removed, added)
        before = self._left_out
        changes = self._sum(concat_rows([added.signed(1), removed.signed(-1)]))
        for number, cells in _by_experiment(changes):
            aggregates.add(self._cursor, self._ids[number], cells)
        for number, names in _by_experiment(self._left_out.join(before, on=_DIMENSION, how="anti")):
            aggregates.remove_dimensions(self._cursor, self._ids[number], names["dimension"].to_list())
        changed = [self._ids[number] for number in changes["experiment"].unique()]
        for experiment_id, height in aggregates.count_rows(self._cursor, changed).items():
            if height > _MOST_ROWS:
                aggregates.replace(
                    self._cursor, experiment_id, aggregates.read_all(self._cursor, experiment_id)
                )
        keys = pl.concat([removed.visitors["visitor_key"], added.visitors["visitor_key"]]).unique()
        rows = (one.visitors.filter(pl.col("visitor_key").is_in(keys.implode())) for one in (former, counted))
        return RowChanges(keys, *rows)

    def differ_from(self, touched: pl.Series, buckets: Iterable[CountedVisitors]) -> list[str]:
        """List the experiments in which the rows of `touched` visitors are not those in `buckets`."""
        changes = changed_rows(*self._before_and_after(touched, buckets))
        rows = [one for change in changes for one in change]
        return self._ids_in(pl.concat([one["experiment"] for one in rows]))

    def differ_from_sums(self) -> list[str]:
        """List the experiments in which the rows of visitors do not add up to the sums."""
        rows = stored_visitors.read_in_parts(self._cursor, self._ids, rows=_ROWS_AT_ONCE)
        parts = [self._sum(VisitorRows(*one).signed(1)) for one in rows]
        for number, one in enumerate(self._ids):
            parts.append(negate(of_experiment(aggregates.read_all(self._cursor, one), number)))
        return self._ids_in(add_up(parts)["experiment"])

    def publish(self, records: Sequence[Published]) -> None:
        """Publish the tables; the last exposure and the dimensions of `records` are filled in here."""
        for number, values in _by_experiment(self._codes.take_new_values()):
            visitors.add_values(self._cursor, self._ids[number], values)
        left_out = dict(_by_experiment(self._left_out))
        known = dict(_by_experiment(self._codes.dimensions()))
        published = []
        for number, record in enumerate(records):
            dimensions = {*DIMENSIONS, *(known[number]["dimension"] if number in known else ())}
            dimensions -= {*(left_out[number]["dimension"] if number in left_out else ())}
            last_exposed_at = self._last_exposed_at[number]
            published.append(
                record._replace(last_exposed_at=last_exposed_at, dimensions=tuple(sorted(dimensions)))
            )
        published_rollups.publish(self._cursor, published)

    def _before_and_after(
        self, touched: pl.Series, buckets: Iterable[CountedVisitors]
    ) -> tuple[VisitorRows, VisitorRows]:
        """Return the stored rows of `touched` visitors, and those in `buckets`."""
        former = VisitorRows(*stored_visitors.read_of(self._cursor, self._ids, touched))
        return former, concat_rows([self._encode(bucket) for bucket in buckets])

    def _ids_in(self, numbers: pl.Series) -> list[str]:
        return [self._ids[number] for number in numbers.unique().sort()]

    def _encode(self, bucket: CountedVisitors) -> VisitorRows:
        for number, moment in bucket.last_exposed_at.items():
            self._last_exposed_at[number] = max(self._last_exposed_at[number] or moment, moment)
        return VisitorRows(
            self._codes.encode(of_own_goals(self._experiments, bucket.visitors)), bucket.orders
        )

    def _add(self, rows: VisitorRows) -> None:
        orders = dict(_by_experiment(rows.orders))
        for number, own in _by_experiment(rows.visitors):
            columns = _columns_of(self._experiments[number], own.columns)
            own_orders = orders.get(number, visitors.no_orders())
            visitors.add(self._cursor, self._ids[number], own.select(columns), own_orders)

    def _remove(self, rows: VisitorRows) -> None:
        for kind, of_kind in (("visitors", rows.visitors), ("orders", rows.orders)):
            for number, own in _by_experiment(of_kind.select("experiment", "visitor_key")):
                visitors.remove(self._cursor, kind, self._ids[number], own["visitor_key"])

    def _sum(self, rows: VisitorRows) -> pl.DataFrame:
        """Sum up rows with their signs, but not those dimensions that ever were left out.

        Sums of a dimension that was left out once lack visitors.
        """
        self._left_out = pl.concat([self._left_out, self._codes.large_dimensions()]).unique()
        return sum_rows(rows, self._experiments, self._codes, self._left_out)


def of_own_goals(experiments: Sequence[Experiment], counted: pl.DataFrame) -> pl.DataFrame:
    """Make the columns null that an experiment does not have, as in its stored rows."""
    owned = [_own_columns(one) for one in experiments]
    owners = {
        name: [number for number, own in enumerate(owned) if name in own]
        for name in {name for own in owned for name in own}
    }
    return counted.with_columns(
        pl.when(pl.col("experiment").is_in(numbers)).then(name).alias(name)
        for name, numbers in owners.items()
        if len(numbers) < len(owned)
    )


def sum_rows(
    rows: VisitorRows, experiments: Sequence[Experiment], codes: SegmentCodes, left_out: pl.DataFrame
) -> pl.DataFrame:
    """Sum up rows with their signs by SCHEMA of the aggregates, but not the dimensions `left_out`."""
    goals = max(len(experiment.goals) for experiment in experiments)
    cells = sum_visitors(*rows, goals, codes, left_out)
    primary_goals = [primary_row(experiment) for experiment in experiments]
    # The two have no dimension in common.
    return pl.concat([cells, sum_since_exposure(rows.visitors, primary_goals)])


def _summed(befores: Sequence[Published | None]) -> pl.DataFrame:
    """List each `experiment` and `dimension` whose sums are stored."""
    pairs = [(number, name) for number, one in enumerate(befores) if one for name in one.dimensions]
    return pl.DataFrame(pairs, {"experiment": pl.UInt16, "dimension": pl.String}, orient="row")


def _by_experiment(rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each experiment that has any, with its number."""
    # Counted visitors are in order of experiments already, and slices of them need no copy.
    is_sorted = rows["experiment"].is_sorted()
    in_order = rows if is_sorted else rows.sort("experiment", maintain_order=True)
    first = 0
    for height, number in in_order["experiment"].rle().struct.unnest().iter_rows():
        yield number, in_order.slice(first, height).drop("experiment")
        first += height


def _columns_of(experiment: Experiment, columns: Iterable[str]) -> list[str]:
    """Select the columns of an experiment among those of several, which may have more goals."""
    own = _own_columns(experiment) | ({visitors.UNIT_KEY} if is_clustered(experiment.unit) else set())
    return [name for name in columns if name in own or not _is_of_some(name)]


def _own_columns(experiment: Experiment) -> set[str]:
    goals = range(len(experiment.goals))
    of_goals = {f"g{goal}_{name}" for goal in goals for name in ("at", "day", "cents")}
    return of_goals.union(extra_columns(experiment))


def _is_of_some(column: str) -> bool:
    """Tell whether only some experiments have a column."""
    return column == visitors.UNIT_KEY or (column[0] == "g" and column[1].isdigit())
