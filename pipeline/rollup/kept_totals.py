"""Totals of a project's visitors, changed with its results as if all visitor rows were counted again."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED
from pipeline.rollup.changed_rows import RowChanges
from pipeline.rollup.publications import Publications
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse import visitor_totals
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.extremes import MINUTE_US
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.visitor_totals import CountedExperiment, Goals
from pipeline.store.warehouse.visitors import has_rows

if TYPE_CHECKING:
    # Workers that count files need no catalog, whose import takes a third of their start.
    from pipeline.store.catalog.catalog import Catalog

_MOMENTS = {"visitors": "exposed_at", "converted": "converted_at"}
# No place of a goal, and not None.
_MISSING = -1


class KeptTotals:
    """Totals of the visitors of all experiments with published results."""

    def __init__(self, warehouse: Warehouse, catalog: "Catalog", publications: Publications) -> None:
        self._warehouse = warehouse
        self._catalog = catalog
        self._publications = publications
        # By project, at a version of its experiments.
        self._started: dict[str, tuple[int, Sequence[Experiment]]] = {}

    def bring_up_to_date(self, project_id: str) -> None:
        """Count all visitors of a project, unless its totals are of the experiments that it has."""
        with self._warehouse.transaction() as cursor:
            experiments = self._counted(project_id)
            kept = visitor_totals.read_goals(cursor, project_id)
            wanted = {one.experiment_id: one.primary_goal for one in experiments}
            if kept == wanted:
                return
            added = [one for one in experiments if kept is None or one.experiment_id not in kept]
            is_same = kept is not None and kept.items() <= wanted.items()
            if is_same and not any(has_rows(cursor, one.experiment_id) for one in added):
                visitor_totals.add_experiments(cursor, project_id, added)
            else:
                visitor_totals.replace(cursor, project_id, experiments)

    def _counted(self, project_id: str) -> list[CountedExperiment]:
        version = self._catalog.experiments.numbers(project_id).version
        if project_id not in self._started or self._started[project_id][0] != version:
            self._started[project_id] = version, self._catalog.experiments.of_project(project_id, STARTED)
        started = self._started[project_id][1]
        published = self._publications.find_all([one.id for one in started])
        return counted_experiments(started, published)


def counted_experiments(
    experiments: Iterable[Experiment], published: Mapping[str, Published]
) -> list[CountedExperiment]:
    """Return what is counted of the experiments with published results."""
    return [
        _counted(one, published[one.id].goals)._replace(variants=len(published[one.id].variants))
        for one in experiments
        if one.id in published
    ]


def recount(cursor: Cursor, project_id: str, experiments: Iterable[Experiment]) -> None:
    """Forget the totals of a project where all rows of some of their experiments were replaced."""
    kept = visitor_totals.read_goals(cursor, project_id) or {}
    if any(one.id in kept for one in experiments):
        visitor_totals.forget(cursor, project_id)


def change(
    cursor: Cursor,
    project_id: str,
    experiments: Sequence[Experiment],
    changes: RowChanges,
    *,
    exposed: Collection[str],
) -> None:
    """Change the totals of a project by rows of some of its experiments that were replaced.

    Their visitors may have rows in other experiments: in those that they were `exposed` to, and in those of
    which events are gone. Totals that are not of these experiments are forgotten. They are of
    tests, and not of holdouts.
    """
    kept = visitor_totals.read_goals(cursor, project_id)
    if kept is None:
        return
    own = {
        number: _counted(one, [goal.id for goal in one.goals])
        for number, one in enumerate(experiments)
        if not one.is_holdout
    }
    if any(kept.get(one.experiment_id, _MISSING) != one.primary_goal for one in own.values()):
        visitor_totals.forget(cursor, project_id)
        return
    if not own or changes.keys.is_empty():
        return
    others = _others(cursor, kept, exposed, {one.experiment_id for one in own.values()})
    elsewhere = visitor_totals.read_moments(cursor, others, changes.keys)
    minutes = pl.concat(
        _by_minute(pl.concat([elsewhere, *_moments(rows, own)]), sign)
        for rows, sign in ((changes.former, -1), (changes.counted, 1))
    )
    changed = minutes.group_by("minute").agg(pl.col("visitors", "converted").sum())
    is_changed = pl.any_horizontal(pl.col("visitors", "converted") != 0)
    visitor_totals.add(cursor, project_id, changed.filter(is_changed))


def _counted(experiment: Experiment, goals: Sequence[str]) -> CountedExperiment:
    """Return what is counted of an experiment whose results have these goals."""
    goal = experiment.primary_goal
    # A goal added since the last count has no position in the tables yet.
    place = goals.index(goal.id) if goal and goal.id in goals else None
    return CountedExperiment(experiment.id, len(experiment.variants), place)


def _others(
    cursor: Cursor, kept: Goals, exposed: Collection[str], own: Collection[str]
) -> list[CountedExperiment]:
    sought = kept.keys() & {*exposed, *published_rollups.list_sealed(cursor)} - {*own}
    records = published_rollups.find_all(cursor, sought)
    return [CountedExperiment(one, len(record.variants), kept[one]) for one, record in records.items()]


def _moments(rows: pl.DataFrame, experiments: Mapping[int, CountedExperiment]) -> list[pl.DataFrame]:
    """Select the first exposures and conversions of rows by the number of their experiment."""
    shapes: dict[tuple[int, int | None], list[int]] = defaultdict(list)
    for number, one in experiments.items():
        shapes[one.variants, one.primary_goal].append(number)
    nothing = pl.lit(None, pl.Int64)
    return [
        rows.filter(pl.col("experiment").is_in(numbers) & (pl.col("variant") < variants)).select(
            "visitor_key",
            pl.col("first_exposed_at").alias("exposed_at"),
            (nothing if goal is None else pl.col(f"g{goal}_at")).alias("converted_at"),
        )
        for (variants, goal), numbers in shapes.items()
    ]


def _by_minute(moments: pl.DataFrame, sign: int) -> pl.DataFrame:
    """Count visitors by the minute of their last moment of each kind, times `sign`."""
    visitors = moments.group_by("visitor_key").agg(pl.col(*_MOMENTS.values()).max())
    parts = [
        visitors.drop_nulls(moment)
        .group_by((pl.col(moment) // MINUTE_US).cast(pl.Int32).alias("minute"))
        .agg((sign * pl.len().cast(pl.Int64)).alias(name))
        for name, moment in _MOMENTS.items()
    ]
    return pl.concat(parts, how="diagonal").fill_null(0)
