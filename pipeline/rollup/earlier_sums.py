"""Sums that earlier versions stored: named, and completed by those that they did not store."""

import logging
from typing import Final

import polars as pl

from engine.measures.sums import MINUS
from pipeline.rollup.aggregates import CELL, SUMS, add_up, of_experiment, sum_visitors
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse import aggregates, earlier_results, stored_visitors, visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.added_dimensions import add_missing_dimensions
from pipeline.store.warehouse.connection import Cursor, Warehouse

logger = logging.getLogger(__name__)

# Visitor rows in memory at once.
_AT_ONCE: Final = 500_000
_CUBES: Final = tuple(name for name in SUMS if "cubed" in name)


def complete_earlier_sums(warehouse: Warehouse) -> list[str]:
    """Bring all published results into the form of this version, and return the ids of those experiments.

    Sums that were not stored are recounted from the visitor rows that the others were taken from, so that
    final results, which are never counted from events again, get them too, and segment dimensions that these
    lack are added. All in one transaction: a process that dies, or a full disk, leaves everything as it was.
    """
    published = published_rollups.list_experiments(warehouse)
    if not published:
        return []
    with warehouse.transaction() as cursor:
        earlier_results.add_buckets(cursor)
        earlier = earlier_results.find_earlier(cursor, published)
        for experiment_id in earlier:
            has_cubes = earlier_results.name_sums(cursor, experiment_id)
            if not has_cubes or visitors.has_ratios(cursor, experiment_id):
                _complete(cursor, experiment_id, has_cubes=has_cubes)
        add_missing_dimensions(cursor)
    if earlier:
        logger.info("the results of %d experiments were brought into the form of this version", len(earlier))
    return earlier


def _complete(cursor: Cursor, experiment_id: str, *, has_cubes: bool) -> None:
    recounted = _recounted(cursor, experiment_id)
    stored = of_experiment(aggregates.read_all(cursor, experiment_id), 0)
    parts = [stored, recounted.filter(pl.col("sum") == MINUS.name)]
    if not has_cubes:
        # A cell of cubes has squares, so none gets lost.
        cubes = recounted.select(*CELL, *_CUBES)
        parts.append(cubes.join(stored, on=CELL, how="semi", nulls_equal=True))
    aggregates.replace(cursor, experiment_id, add_up(parts).drop("experiment"))


def _recounted(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Sum up the visitor rows of an experiment, without what was added on other days."""
    published = published_rollups.find(cursor, experiment_id)
    codes = SegmentCodes(stored_visitors.read_values_of(cursor, [experiment_id]))
    dimensions = [] if published is None else list(published.dimensions)
    # No cells of these are stored, so none of theirs would be kept.
    left_out = codes.dimensions().filter(~pl.col("dimension").is_in(dimensions))
    goals = visitors.count_goals(cursor, experiment_id)
    counted = pl.lit(1, pl.Int64).alias("sign")
    no_orders = visitors.no_orders().with_columns(pl.lit(0, pl.UInt16).alias("experiment"), counted)
    return add_up(
        sum_visitors(rows.with_columns(counted), no_orders, goals, codes, left_out)
        for rows, _ in stored_visitors.read_in_parts(cursor, [experiment_id], rows=_AT_ONCE)
    )
