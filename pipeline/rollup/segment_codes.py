"""Codes of segment values, which visitor rows hold in place of texts, for several experiments at once."""

from collections.abc import Collection
from typing import Final

import polars as pl

from pipeline.events.custom_keys import members_of
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, DIMENSIONS

# A dimension with more values than this is not in the aggregates.
MOST_VALUES: Final = 200
# Nor are custom dimensions beyond this many, in order of their names.
MOST_CUSTOM_KEYS: Final = 20
_VALUES: Final = pl.Schema({"experiment": pl.UInt16, "code": pl.UInt32, "value": pl.String})
_MEMBERS: Final = pl.Schema(
    {"experiment": pl.UInt16, "code": pl.UInt32, "dimension": pl.String, "value": pl.String}
)
_DIMENSION_VALUES: Final = ("experiment", "dimension", "value")


class SegmentCodes:
    """Codes of each dimension's values by experiment, in order of first appearance."""

    def __init__(self, known: pl.DataFrame | None = None, custom_keys: Collection[str] | None = None) -> None:
        """Start with the values `known` (`experiment`, `dimension`, `code`, `value`), or with none.

        Of custom dimensions, only those with one of `custom_keys` are told apart; None for all.
        """
        self._custom_keys = custom_keys
        self._values = {name: _VALUES.to_frame() for name in (*DIMENSIONS, CUSTOM)}
        if known is not None:
            for (name,), values in known.group_by("dimension"):
                self._values[str(name)] = values.select(_VALUES.names()).cast(_VALUES)
        self._custom = self._members_of(self._values[CUSTOM])
        self._new: list[pl.DataFrame] = []

    def encode(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Replace every category by its code (null stays null); a new value gets the next code."""
        return rows.with_columns(
            self._encode_column(name, rows["experiment"], rows[name]) for name in self._values
        )

    def take_new_values(self) -> pl.DataFrame:
        """Return the values that were encoded first since the last call: as `known` above."""
        schema = {"experiment": pl.UInt16, "dimension": pl.String, "code": pl.UInt32, "value": pl.String}
        new, self._new = pl.concat([pl.DataFrame(schema=schema), *self._new]), []
        return new

    def values(self, dimension: str) -> pl.DataFrame:
        """Return the `value` of each `experiment` and `code` of a plain dimension."""
        return self._values[dimension]

    def custom_values(self) -> pl.DataFrame:
        """Return `dimension` (`custom:<key>`) and `value` of each `experiment` and `code` of `custom`."""
        return self._custom

    def large_dimensions(self) -> pl.DataFrame:
        """Return each `experiment` and `dimension` with too many values, or custom keys, to sum them up."""
        plain = pl.concat(
            values.select("experiment", pl.lit(name).alias("dimension"), "value")
            for name, values in self._values.items()
            if name != CUSTOM
        )
        both = pl.concat([plain, self._custom.select(_DIMENSION_VALUES)])
        counts = both.group_by("experiment", "dimension").agg(pl.col("value").n_unique())
        is_large = pl.col("value") > MOST_VALUES
        custom = counts.filter(~is_large & pl.col("dimension").str.starts_with(CUSTOM_PREFIX))
        further = custom.filter(pl.col("dimension").rank("ordinal").over("experiment") > MOST_CUSTOM_KEYS)
        return pl.concat([counts.filter(is_large), further]).select("experiment", "dimension")

    def dimensions(self) -> pl.DataFrame:
        """Return each `experiment` and `dimension` with values, custom ones included."""
        plain = [
            values.select("experiment", pl.lit(name).alias("dimension")).unique()
            for name, values in self._values.items()
            if name != CUSTOM
        ]
        return pl.concat([*plain, self._custom.select("experiment", "dimension").unique()])

    def _encode_column(self, name: str, experiments: pl.Series, column: pl.Series) -> pl.Series:
        if column.null_count() == column.len():
            return pl.Series(name, [None], pl.UInt32).new_from_index(0, column.len())
        numbers = column.to_physical()
        width = _highest(numbers) + 1
        # Each distinct text is compared once; rows then map the number of their pair to the code.
        pairs = experiments.cast(pl.UInt64) * width + numbers
        found = pl.DataFrame({"pair": pairs.drop_nulls().unique()}).with_columns(
            (pl.col("pair") // width).cast(pl.UInt16).alias("experiment"),
            (pl.col("pair") % width).cast(numbers.dtype).cat.to(column.dtype).cast(pl.String).alias("value"),
        )
        self._add(name, found.select("experiment", "value"))
        coded = found.join(self._values[name], on=["experiment", "value"])
        return _look_up(pairs, coded["pair"], coded["code"]).alias(name)

    def _add(self, name: str, pairs: pl.DataFrame) -> None:
        known = self._values[name]
        new = pairs.join(known, on=["experiment", "value"], how="anti").sort("experiment", "value")
        if new.is_empty():
            return
        given = known.group_by("experiment").agg(pl.len().cast(pl.UInt32).alias("given"))
        place = pl.int_range(pl.len(), dtype=pl.UInt32).over("experiment")
        numbered = new.join(given, on="experiment", how="left", maintain_order="left").select(
            "experiment", (place + pl.col("given").fill_null(0)).alias("code"), "value"
        )
        self._values[name] = pl.concat([known, numbered])
        self._new.append(numbered.select("experiment", pl.lit(name).alias("dimension"), "code", "value"))
        if name == CUSTOM:
            self._custom = pl.concat([self._custom, self._members_of(numbered)])

    def _members_of(self, values: pl.DataFrame) -> pl.DataFrame:
        keys = self._custom_keys
        rows = [
            (experiment, code, CUSTOM_PREFIX + key, value)
            for experiment, code, text in values.iter_rows()
            for key, value in members_of(text).items()
            if isinstance(value, str) and (keys is None or key in keys)
        ]
        return pl.DataFrame(rows, schema=_MEMBERS, orient="row")


def _look_up(pairs: pl.Series, known: pl.Series, codes: pl.Series) -> pl.Series:
    """Map each of the `pairs`, all of them `known` or null, to its code."""
    size = _highest(known) + 1
    if size > pairs.len():
        return pairs.replace_strict(known, codes, return_dtype=pl.UInt32)
    # A table with a place for every number up to the highest is several times faster.
    table = pl.Series([0], dtype=pl.UInt32).new_from_index(0, size)
    return table.scatter(known, codes).gather(pairs)


def _highest(numbers: pl.Series) -> int:
    return int(numbers.to_frame().select(pl.all().max()).item())
