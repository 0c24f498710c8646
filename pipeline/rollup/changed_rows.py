"""Rows of visitors that differ between two counts."""

from typing import NamedTuple

import polars as pl

_VISITOR = ["experiment", "visitor_key"]


class VisitorRows(NamedTuple):
    """Rows of visitors of several experiments and of their orders, by the number of the `experiment`."""

    visitors: pl.DataFrame
    orders: pl.DataFrame

    def signed(self, sign: int) -> "VisitorRows":
        """Add the column `sign`, the factor by which rows count in sums."""
        factor = pl.lit(sign, pl.Int64).alias("sign")
        return VisitorRows(self.visitors.with_columns(factor), self.orders.with_columns(factor))

    def of_visitors(self, keys: pl.DataFrame) -> "VisitorRows":
        """Select the rows of some visitors."""
        return VisitorRows(*(rows.join(keys, on=_VISITOR, how="semi") for rows in self))


class RowChanges(NamedTuple):
    """Rows of visitors before and after a count, of the `keys` for whom any row differs."""

    keys: pl.Series
    former: pl.DataFrame
    counted: pl.DataFrame


def concat_rows(parts: list[VisitorRows]) -> VisitorRows:
    """Put rows below each other; goals that only some of them have are null in the others."""
    visitors, orders = zip(*parts, strict=True)
    return VisitorRows(pl.concat(visitors, how="diagonal_relaxed"), pl.concat(orders, how="diagonal_relaxed"))


def changed_rows(former: VisitorRows, counted: VisitorRows) -> tuple[VisitorRows, VisitorRows]:
    """Return the rows to remove and those to add, all rows of each visitor for whom any differs."""
    changed = [
        _differing(before.select(sorted(before.columns)), after.select(sorted(before.columns)))
        for before, after in zip(former, counted, strict=True)
    ]
    keys = pl.concat(changed).unique()
    return former.of_visitors(keys), counted.of_visitors(keys)


def _differing(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    both = pl.concat([before, after.cast(before.schema)])
    return both.filter(both.is_unique()).select(_VISITOR)
