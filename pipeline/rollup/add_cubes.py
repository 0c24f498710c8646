"""Addition of cubed cents to sums that version 0.1 stored without them."""

import logging
from typing import Final

import polars as pl

from pipeline.rollup.aggregates import CELL, SUMS, add_up, of_experiment, sum_visitors
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse

logger = logging.getLogger(__name__)

# Visitor rows in memory at once.
_AT_ONCE: Final = 500_000
_CUBES: Final = tuple(name for name in SUMS if "cubed" in name)


def add_cubes(warehouse: Warehouse) -> list[str]:
    """Add the cubes to all published sums that lack them, and return the ids of those experiments.

    They are recounted from the visitor rows that the sums were taken from, so that final results, which are
    never counted from events again, get them too. One transaction an experiment.
    """
    added = []
    for experiment_id in published_rollups.list_experiments(warehouse):
        with warehouse.transaction() as cursor:
            if aggregates.has_cubes(cursor, experiment_id):
                continue
            _add(cursor, experiment_id)
        added.append(experiment_id)
        logger.info(
            "recounted the revenue of %s, which an earlier version stored without cubes", experiment_id
        )
    return added


def _add(cursor: Cursor, experiment_id: str) -> None:
    published = published_rollups.find(cursor, experiment_id)
    known = visitors.read_values_of(cursor, [experiment_id])
    codes = SegmentCodes(known)
    dimensions = [] if published is None else list(published.dimensions)
    # No cells of these are stored, so none of theirs would be kept.
    left_out = codes.dimensions().filter(~pl.col("dimension").is_in(dimensions))
    goals = visitors.count_goals(cursor, experiment_id)
    no_orders = visitors.no_orders().with_columns(experiment=pl.lit(0, pl.UInt16), sign=pl.lit(1, pl.Int64))
    cubes = add_up(
        sum_visitors(
            rows.with_columns(experiment=pl.lit(0, pl.UInt16), sign=pl.lit(1, pl.Int64)),
            no_orders,
            goals,
            codes,
            left_out,
        ).select(*CELL, *_CUBES)
        for rows in visitors.read_in_parts(cursor, experiment_id, rows=_AT_ONCE)
    )
    stored = of_experiment(aggregates.read_all(cursor, experiment_id), 0)
    cells = add_up([stored, _of_stored(cubes, stored)])
    aggregates.replace(cursor, experiment_id, cells.drop("experiment"))


def _of_stored(cubes: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Keep the cells that are stored: a cell of cubes has squares, so none gets lost."""
    return cubes.join(stored, on=CELL, how="semi", nulls_equal=True)
