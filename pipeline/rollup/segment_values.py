"""Stored segment values of an experiment, and the segments that results offer.

Visitor rows hold codes of segment values. Only dimensions with few values are summed up in the aggregates;
results of the others come from visitor rows.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Final

import polars as pl

from engine.design.experiment import Experiment
from engine.local_days import are_weekends
from pipeline.events.custom_keys import members_of
from pipeline.rollup.segment_codes import MOST_CUSTOM_KEYS, MOST_VALUES
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, read_custom_keys

_SCHEMA: Final = pl.Schema({"value": pl.String, "code": pl.UInt32})


def as_categories(rows: pl.DataFrame, kind: pl.Categorical | None = None) -> pl.DataFrame:
    """Convert segment columns to categories: each text is stored once, since rows are copied often.

    Only rows with categories of one `kind` can be put together.
    """
    kind = kind or pl.Categorical(pl.Categories.random())
    return rows.with_columns(
        pl.col(name).cast(kind) for name in (*DIMENSIONS, CUSTOM) if name in rows.columns
    )


def with_day_of_week(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column `day_of_week`, weekday or weekend, of each `first_day`."""
    is_weekend = pl.Series(are_weekends(rows["first_day"].to_numpy()))
    name = pl.when(is_weekend).then(pl.lit("weekend")).otherwise(pl.lit("weekday"))
    return rows.with_columns(name.cast(pl.Categorical).alias("day_of_week"))


class SegmentValues:
    """Values of each dimension, with codes in order of first appearance."""

    def __init__(self, known: pl.DataFrame | None = None, custom_keys: Collection[str] | None = None) -> None:
        """Start with the values `known` (`dimension`, `code`, `value`), or with none.

        Of custom dimensions, only those with one of `custom_keys` are told apart; None for all.
        """
        self._values = {name: pl.DataFrame(schema=_SCHEMA) for name in (*DIMENSIONS, CUSTOM)}
        self._custom_keys = custom_keys
        self._custom = _members_of(self._values[CUSTOM], custom_keys)
        if known is not None:
            for (name,), values in known.group_by("dimension"):
                self._append(str(name), values.sort("code").select("value", "code").cast({"code": pl.UInt32}))

    def dimensions(self) -> set[str]:
        """Return every dimension, including the custom ones with values."""
        return {*DIMENSIONS, *self._custom["dimension"].unique().to_list()}

    def count_values(self) -> dict[str, int]:
        """Count the values of each dimension, custom ones with values included."""
        custom = self._custom.group_by("dimension").agg(pl.col("value").n_unique())
        return {name: self._values[name].height for name in DIMENSIONS} | dict(custom.iter_rows())

    def codes_of(self, column: str) -> pl.DataFrame:
        """Return each `code` of a column of visitor rows with its `dimension` and `value`."""
        if column == CUSTOM:
            return self._custom.select("code", "dimension", "value")
        return self._values[column].with_columns(pl.lit(column).alias("dimension"))

    def first_values(self, dimensions: Collection[str]) -> dict[str, list[str]]:
        """Return values of each of these dimensions in order of appearance, at most MOST_VALUES each."""
        plain = {
            name: self._values[name]["value"].head(MOST_VALUES).to_list()
            for name in DIMENSIONS
            if name in dimensions
        }
        custom = (
            self._custom.filter(pl.col("dimension").is_in(list(dimensions)))
            .group_by("dimension", maintain_order=True)
            .agg(pl.col("value").unique(maintain_order=True).head(MOST_VALUES))
        )
        return plain | dict(custom.iter_rows())

    def _append(self, name: str, new: pl.DataFrame) -> None:
        self._values[name] = self._values[name].vstack(new)
        if name == CUSTOM:
            self._custom = self._custom.vstack(_members_of(new, self._custom_keys))


def _members_of(values: pl.DataFrame, keys: Collection[str] | None) -> pl.DataFrame:
    rows = [
        (code, CUSTOM_PREFIX + key, value)
        for text, code in values.iter_rows()
        for key, value in members_of(text).items()
        if isinstance(value, str) and (keys is None or key in keys)
    ]
    schema = {"code": pl.UInt32, "dimension": pl.String, "value": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def segment_choices(cursor: Cursor, experiment: Experiment, published: Published) -> dict[str, list[str]]:
    """List the values of counted visitors by dimension in order, custom dimensions as `custom:<key>`.

    Of a dimension that is not in the aggregates, the first MOST_VALUES by appearance.
    """
    choices: dict[str, list[str]] = defaultdict(list)
    variants = len(published.variants)
    for dimension, value in aggregates.read_values(cursor, experiment.id, variants=variants):
        choices[dimension].append(value)
    left_out = stored_values(cursor, experiment).dimensions() - set(published.dimensions)
    if left_out:
        keys = read_custom_keys(cursor, experiment.project_id)
        counted = visitors.read_counted_values(cursor, experiment.id, left_out, variants=variants)
        for dimension, values in SegmentValues(counted, keys).first_values(left_out).items():
            choices[dimension] = sorted(values)
    return choices


def dimensions_left_out(cursor: Cursor, experiment: Experiment, published: Published) -> dict[str, str]:
    """Map each dimension that is not in the aggregates to the reason, in order."""
    counts = stored_values(cursor, experiment).count_values()
    return {
        dimension: (
            f"it has {counts[dimension]:,} values, and those of at most {MOST_VALUES} are summed up ahead"
            if counts[dimension] > MOST_VALUES
            else f"of custom dimensions, the first {MOST_CUSTOM_KEYS} by name are summed up ahead"
        )
        for dimension in sorted(counts.keys() - set(published.dimensions))
    }


def stored_values(cursor: Cursor, experiment: Experiment) -> SegmentValues:
    """Read the segment values of an experiment's visitors, with the custom keys that its project keeps."""
    keys = read_custom_keys(cursor, experiment.project_id)
    return SegmentValues(visitors.read_values(cursor, experiment.id), keys)
