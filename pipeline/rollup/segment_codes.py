"""Codes of segment values, which visitor rows hold in place of texts, for several experiments at once."""

from collections.abc import Collection
from typing import Final

import polars as pl

from pipeline.events.custom_keys import members_of
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX

# A dimension with more values than this is not in the aggregates.
MOST_VALUES: Final = 200
# Nor are custom dimensions beyond this many, in order of their names.
MOST_CUSTOM_KEYS: Final = 20
_VALUES: Final = pl.Schema(
    {"experiment": pl.UInt16, "dimension": pl.String, "code": pl.UInt32, "value": pl.String}
)
_MEMBERS: Final = pl.Schema(
    {"experiment": pl.UInt16, "code": pl.UInt32, "dimension": pl.String, "value": pl.String}
)
_VALUE: Final = ("experiment", "dimension", "value")


class SegmentCodes:
    """Codes of each dimension's values by experiment, in order of first appearance."""

    def __init__(self, known: pl.DataFrame | None = None, custom_keys: Collection[str] | None = None) -> None:
        """Start with the values `known` (`experiment`, `dimension`, `code`, `value`), or with none.

        Of custom dimensions, only those with one of `custom_keys` are told apart; None for all.
        """
        self._custom_keys = custom_keys
        self._values = _VALUES.to_frame() if known is None else known.select(_VALUES.names()).cast(_VALUES)
        self._custom = self._members_of(self._values)
        self._new: list[pl.DataFrame] = []

    def encode(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Replace every category by its code (null stays null); a new value gets the next code."""
        names = [name for name in (*DIMENSIONS, CUSTOM) if rows[name].null_count() < rows.height]
        empty = [pl.lit(None, pl.UInt32).alias(name) for name in {*DIMENSIONS, CUSTOM}.difference(names)]
        if not names:
            return rows.with_columns(empty)
        highest = rows.select(pl.col(names).to_physical().max()).row(0)
        pairs = {
            name: pl.col("experiment").cast(pl.UInt64) * (most + 1) + pl.col(name).to_physical()
            for name, most in zip(names, highest, strict=True)
        }
        # Each distinct text is compared once; rows then map the number of their pair to the code.
        found = [
            rows.lazy()
            .select(pl.lit(name).alias("dimension"), "experiment", name, pair.alias("pair"))
            .drop_nulls("pair")
            .unique("pair", keep="any")
            .with_columns(pl.col(name).cast(pl.String).alias("value"))
            .drop(name)
            for name, pair in pairs.items()
        ]
        distinct = pl.concat(pl.collect_all(found))
        self._add(distinct.select(_VALUE))
        coded = distinct.join(self._values, on=_VALUE).partition_by("dimension", as_dict=True)
        return rows.with_columns(
            *empty,
            *(
                _look_up(pair, coded[name,]["pair"], coded[name,]["code"], rows.height).alias(name)
                for name, pair in pairs.items()
            ),
        )

    def take_new_values(self) -> pl.DataFrame:
        """Return the values that were encoded first since the last call: as `known` above."""
        new, self._new = pl.concat([_VALUES.to_frame(), *self._new]), []
        return new

    def values(self) -> pl.DataFrame:
        """Return the `value` of each `experiment`, plain `dimension` and `code`."""
        return self._values.filter(pl.col("dimension") != CUSTOM)

    def custom_values(self) -> pl.DataFrame:
        """Return `dimension` (`custom:<key>`) and `value` of each `experiment` and `code` of `custom`."""
        return self._custom

    def large_dimensions(self) -> pl.DataFrame:
        """Return each `experiment` and `dimension` with too many values, or custom keys, to sum them up."""
        both = pl.concat([self.values().select(_VALUE), self._custom.select(_VALUE)])
        counts = both.group_by("experiment", "dimension").agg(pl.col("value").n_unique())
        is_large = pl.col("value") > MOST_VALUES
        custom = counts.filter(~is_large & pl.col("dimension").str.starts_with(CUSTOM_PREFIX))
        further = custom.filter(pl.col("dimension").rank("ordinal").over("experiment") > MOST_CUSTOM_KEYS)
        return pl.concat([counts.filter(is_large), further]).select("experiment", "dimension")

    def dimensions(self) -> pl.DataFrame:
        """Return each `experiment` and `dimension` with values, custom ones included."""
        both = [part.select("experiment", "dimension") for part in (self.values(), self._custom)]
        return pl.concat(both).unique()

    def _add(self, found: pl.DataFrame) -> None:
        new = found.join(self._values, on=_VALUE, how="anti").sort(_VALUE)
        if new.is_empty():
            return
        group = ["experiment", "dimension"]
        given = self._values.group_by(group).agg(pl.len().cast(pl.UInt32).alias("given"))
        place = pl.int_range(pl.len(), dtype=pl.UInt32).over(group)
        numbered = new.join(given, on=group, how="left", maintain_order="left").select(
            *group, (place + pl.col("given").fill_null(0)).alias("code"), "value"
        )
        self._values = pl.concat([self._values, numbered])
        self._new.append(numbered)
        self._custom = pl.concat([self._custom, self._members_of(numbered)])

    def _members_of(self, values: pl.DataFrame) -> pl.DataFrame:
        keys = self._custom_keys
        rows = [
            (experiment, code, CUSTOM_PREFIX + key, value)
            for experiment, _, code, text in values.filter(pl.col("dimension") == CUSTOM).iter_rows()
            for key, value in members_of(text).items()
            if isinstance(value, str) and (keys is None or key in keys)
        ]
        return pl.DataFrame(rows, schema=_MEMBERS, orient="row")


def _look_up(pair: pl.Expr, known: pl.Series, codes: pl.Series, rows: int) -> pl.Expr:
    """Map each pair of so many `rows`, all of them `known` or null, to its code."""
    size = _highest(known) + 1
    if size > rows:
        return pair.replace_strict(known, codes, return_dtype=pl.UInt32)
    # A table with a place for every number up to the highest is several times faster.
    table = pl.Series([0], dtype=pl.UInt32).new_from_index(0, size)
    return pl.lit(table.scatter(known, codes)).gather(pair)


def _highest(numbers: pl.Series) -> int:
    return int(numbers.to_frame().select(pl.all().max()).item())
