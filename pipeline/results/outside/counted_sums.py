"""Sums of an experiment that was counted here, in the form in which another service takes them."""

from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.local_days import from_epoch_microseconds
from pipeline.results.outside.outside_sums import CELLS, EXTREMES, MARKS, PRODUCTS, OutsideSums
from pipeline.rollup.goals.summed_goals import goals_needing_values, kept_goals
from pipeline.rollup.segment_values import stored_values
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.extremes import ADDRESSES, OVERDRAWN, STEPS, read_kept
from pipeline.store.warehouse.product_sums import CAP
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import find_products

_ROW: Final = {
    "code": pl.UInt32,
    "variant": pl.UInt8,
    "day": pl.Int32,
    "goal": pl.UInt8,
    "product": pl.String,
    "high": pl.Int128,
    "low": pl.Int128,
}


def sums_of(cursor: Cursor, experiment: Experiment, published: Published, *, source: str) -> OutsideSums:
    """Take the sums of a published experiment from its tables, and products from its rows of visitors."""
    cells = aggregates.read_all(cursor, experiment.id).cast({"sum": pl.String})
    last = published.last_exposed_at
    return OutsideSums(
        source=source,
        fingerprint=published.fingerprint,
        watermark=from_epoch_microseconds(published.as_of),
        cells=_named(published, cells).select(CELLS.names()),
        products=_named(published, _products(cursor, experiment, published)).select(PRODUCTS.names()),
        extremes=_named(published, _extremes(cursor, experiment, published)).select(EXTREMES.names()),
        last_exposed_at=None if last is None else from_epoch_microseconds(last),
    )


def _named(published: Published, rows: pl.DataFrame) -> pl.DataFrame:
    """Replace positions by ids, without what is not told: visitors of units, and days in numbers."""
    variants = dict(enumerate(published.variants)) | {mark: name for name, mark in MARKS.items()}
    return rows.filter(pl.col("variant").is_null() | pl.col("variant").is_in([*variants])).with_columns(
        pl.col("variant").replace_strict(variants, default=None, return_dtype=pl.String),
        pl.col("goal").replace_strict(dict(enumerate(published.goals)), default=None, return_dtype=pl.String),
        pl.col("day").cast(pl.Date),
    )


def _products(cursor: Cursor, experiment: Experiment, published: Published) -> pl.DataFrame:
    goals = goals_needing_values(experiment, published.goals)
    everyone = SelectedVisitors.everyone(cursor, experiment.id, variants=len(published.variants))
    caps, rows = find_products(everyone, goals, None)
    of_all = pl.DataFrame(rows, _ROW, orient="row").with_columns(dimension=pl.lit(""), value=pl.lit(""))
    columns = {CUSTOM if name.startswith(CUSTOM_PREFIX) else name for name in published.dimensions}
    parts = [of_all, *(_by_segment(everyone, experiment, published, name) for name in sorted(columns))]
    of_caps = pl.DataFrame([*caps.items()], {"goal": pl.UInt8, "low": pl.Int128}, orient="row")
    named = of_caps.with_columns(dimension=pl.lit(""), value=pl.lit(""), product=pl.lit(CAP))
    return pl.concat([*parts, named], how="diagonal")


def _by_segment(
    everyone: SelectedVisitors, experiment: Experiment, published: Published, column: str
) -> pl.DataFrame:
    """Sum up the products by the values of a dimension, or of all custom ones."""
    goals = goals_needing_values(experiment, published.goals)
    _, rows = find_products(everyone, goals, column)
    found = pl.DataFrame(rows, _ROW, orient="row")
    segments = stored_values(everyone.cursor, experiment).codes_of(column)
    known = segments.filter(pl.col("dimension").is_in(list(published.dimensions)))
    keys = ["dimension", "value", "variant", "day", "goal", "product"]
    return found.join(known, on="code").group_by(keys).agg(pl.col("high", "low").sum())


def _extremes(cursor: Cursor, experiment: Experiment, published: Published) -> pl.DataFrame:
    kept = read_kept(
        cursor,
        experiment.id,
        kept_goals(experiment, published.goals, variants=len(published.variants)),
    )
    told = kept.filter(~pl.col("kind").is_in([ADDRESSES, OVERDRAWN]))
    is_steps = pl.col("kind") == STEPS
    number = pl.col("number")
    counts = ["kind", "goal", "variant", "number"]
    lists = told.filter(pl.col("key").is_not_null()).with_columns(pl.col("key").rank("dense").cast(pl.UInt64))
    added = told.filter(pl.col("key").is_null()).group_by(counts).agg(pl.col("size").sum())
    return pl.concat([lists, added], how="diagonal").with_columns(
        pl.when(is_steps).then(None).otherwise(number).alias("day"),
        pl.when(is_steps).then(number).alias("steps"),
        pl.col("value").alias("amount"),
    )
