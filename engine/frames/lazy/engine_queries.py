"""Queries of lazy tables that narwhals hands to the table's own engine."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, TypeAlias, TypeGuard

import narwhals as nw
import polars as pl
from narwhals import Implementation

Table: TypeAlias = nw.LazyFrame[Any]

# Tables of other kinds are in this process already.
_ENGINES: Final = frozenset(
    {
        Implementation.DUCKDB,
        Implementation.IBIS,
        Implementation.PYSPARK,
        Implementation.PYSPARK_CONNECT,
        Implementation.SQLFRAME,
    }
)


def is_engine_table(frame: object) -> TypeGuard[Table]:
    """Tell whether a frame is lazy and of an engine that can be sent queries."""
    return isinstance(frame, nw.LazyFrame) and frame.implementation in _ENGINES


def fetch(query: Table) -> pl.DataFrame:
    """Run a query, and fetch its rows: sums, never the rows of visitors."""
    rows: pl.DataFrame = query.collect("polars").to_native()
    return rows


def flag(condition: nw.Expr) -> nw.Expr:
    """Turn a condition into 1 or 0; 0 where it is null."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def by_case(column: nw.Expr, values: Sequence[Any], results: Sequence[float]) -> nw.Expr:
    """Map each of `values` to its result, other values to null."""
    cases = list(zip(values, results, strict=True))
    value, result = cases[0]
    first = nw.when(column == nw.lit(value)).then(nw.lit(result))
    return reduce(
        lambda case, pair: case.when(column == nw.lit(pair[0])).then(nw.lit(pair[1])), cases[1:], first
    )
