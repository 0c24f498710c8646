"""Sums of an experiment that were counted outside, by a warehouse or a cluster: their form."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self

import polars as pl

from engine.errors import InvalidDesignError, Problem
from pipeline.rollup.counting_rules import FLAGGED_AS_BOT, IDENTITY_CONFLICT, SEVERAL_VARIANTS

# Names in the column `variant` of visitors who are counted in none.
MARKS: Final = {
    "several_variants": SEVERAL_VARIANTS,
    "identity_conflicts": IDENTITY_CONFLICT,
    "bots": FLAGGED_AS_BOT,
}
_CELL: Final = {"dimension": pl.String, "value": pl.String, "variant": pl.String, "goal": pl.String}
CELLS: Final = pl.Schema(
    {
        **_CELL,
        "sum": pl.String,
        "day": pl.Date,
        "bucket": pl.Int32,
        "visitors": pl.Int64,
        "conversions": pl.Int64,
        "total": pl.Int64,
        "cohort_conversions": pl.Int64,
        "cohort_total": pl.Int64,
        "cohort_squared": pl.Int128,
        "cohort_cubed_high": pl.Int128,
        "cohort_cubed_low": pl.Int128,
    }
)
"""Columns of the sums of visitors and goals, as `pipeline.store.warehouse.aggregates` describes them.

`variant` and `goal` are ids, or one of MARKS; rows of visitors have no goal. `dimension` and `value` are
empty in the sums of all visitors. What is left out is 0.
"""
PRODUCTS: Final = pl.Schema(
    {**_CELL, "day": pl.Date, "product": pl.String, "high": pl.Int128, "low": pl.Int128}
)
"""Columns of the sums of products of two or three values of a visitor, by the day of first exposure.

`product` is one of `value_sums.PRODUCTS`, such as `zy`, or `cap`, the cap of a goal's values, which has no
variant. Its sum is `high` · 10¹⁵ + `low`.
"""
EXTREMES: Final = pl.Schema(
    {
        "kind": pl.String,
        "goal": pl.String,
        "variant": pl.String,
        "day": pl.Date,
        "steps": pl.Int32,
        "key": pl.UInt64,
        "size": pl.Int64,
        "amount": pl.Int64,
        "denominator": pl.Int64,
        "before": pl.Int64,
        "is_all": pl.Boolean,
    }
)
"""Columns of the largest visitors, as `pipeline.store.warehouse.extremes` describes them, without senders.

Their `value` is the `amount`. A `key` tells visitors of one publication apart and is no id. `day` is that of
first exposure, of goals whose outcomes take days; `steps` are those that `size` visitors reached of a funnel,
and no more.
"""
_TABLES: Final = {"cells": CELLS, "products": PRODUCTS, "extremes": EXTREMES}
KINDS: Final = {"cell": "cells", "product": "products", "extreme": "extremes"}
"""Values of the column `kind_of_row` in one table of all three, and what they are rows of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideSums:
    """Sums of an experiment that `source` counted up to the time `watermark`, every event included.

    `fingerprint` is that of the counting rules, by `pipeline.rollup.counting_rules`. `cells` have the columns
    of CELLS, or some of them, and so have `products`, which CUPED, caps, ratios and revenue per order need,
    and `extremes`, without which no visitor is known to be large. Frames are brought to the types of their
    columns; InvalidDesignError names what they cannot hold.
    """

    source: str
    fingerprint: str
    watermark: datetime
    cells: pl.DataFrame
    products: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PRODUCTS))
    extremes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EXTREMES))
    last_exposed_at: datetime | None = None

    def __post_init__(self) -> None:
        problems = list[Problem]()
        for name, schema in _TABLES.items():
            try:
                object.__setattr__(self, name, _typed(getattr(self, name), schema))
            except InvalidDesignError as error:
                problems += error.problems
        if problems:
            raise InvalidDesignError(problems)

    @classmethod
    def of_table(
        cls,
        table: pl.DataFrame,
        *,
        source: str,
        fingerprint: str,
        watermark: datetime,
        last_exposed_at: datetime | None = None,
    ) -> Self:
        """Take one table whose column `kind_of_row` tells rows of KINDS apart; InvalidDesignError."""
        kind = pl.col("kind_of_row")
        if "kind_of_row" not in table.columns:
            raise InvalidDesignError([Problem("kind_of_row", f"is missing: {_or(KINDS)} in each row")])
        if unknown := set(table["kind_of_row"].unique().to_list()) - KINDS.keys():
            named = ", ".join(sorted(map(repr, unknown)))
            raise InvalidDesignError([Problem("kind_of_row", f"is {_or(KINDS)}, not {named}")])
        if extra := [name for name in table.columns if name not in known_columns()]:
            raise InvalidDesignError([Problem(name, "is no column of sums") for name in extra])
        cells, products, extremes = (
            table.filter(kind == word).select(one for one in _TABLES[name] if one in table.columns)
            for word, name in KINDS.items()
        )
        return cls(
            source=source,
            fingerprint=fingerprint,
            watermark=watermark,
            cells=cells,
            products=products,
            extremes=extremes,
            last_exposed_at=last_exposed_at,
        )

    def table(self) -> pl.DataFrame:
        """Put all rows into the one table that `of_table` takes."""
        wide = {pl.Int128: pl.Decimal(38, 0)}
        parts: list[pl.DataFrame] = [
            getattr(self, name).cast(wide).select(pl.lit(word).alias("kind_of_row"), pl.all())
            for word, name in KINDS.items()
        ]
        return pl.concat(parts, how="diagonal")

    @property
    def digest(self) -> str:
        """Hash of the rows, in any order, and of the rules that they were counted by."""
        found = hashlib.sha256(self.fingerprint.encode())
        for name in _TABLES:
            rows: pl.DataFrame = getattr(self, name)
            found.update(rows.select(pl.all().cast(pl.String)).sort(rows.columns).write_csv().encode())
        return found.hexdigest()


def known_columns() -> frozenset[str]:
    """Return the columns of the one table."""
    return frozenset({"kind_of_row", *(name for schema in _TABLES.values() for name in schema)})


def _typed(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Bring rows to the columns of a schema; numbers that are left out are null."""
    problems = [Problem(name, "is no column of sums") for name in rows.columns if name not in schema]
    columns = []
    for name, kind in schema.items():
        if name not in rows.columns:
            columns.append(pl.lit(None, kind).alias(name))
        elif (problem := _misfit(rows[name], kind)) is not None:
            problems.append(Problem(name, problem))
        else:
            columns.append(pl.col(name).cast(kind))
    if problems:
        raise InvalidDesignError(problems)
    return rows.select(columns)


def _misfit(column: pl.Series, kind: pl.DataType | type[pl.DataType]) -> str | None:
    """Say why a column cannot become one of a type; None where it can."""
    given, wanted = column.dtype, kind() if isinstance(kind, type) else kind
    if given == pl.Null:
        return None
    is_whole = given.is_integer() or (isinstance(given, pl.Decimal) and given.scale == 0)
    if wanted.is_integer() and not is_whole:
        return f"has {given}, and not whole numbers"
    if not wanted.is_integer() and given != wanted and not (wanted == pl.String and given == pl.Categorical):
        return f"has {given}, and not {wanted}"
    if column.cast(kind, strict=False).null_count() != column.null_count():
        return f"has numbers that do not fit into {wanted}"
    return None


def _or(words: dict[str, str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"
