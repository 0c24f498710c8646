"""Queries of lazy tables that narwhals hands to the table's own engine."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, TypeAlias, TypeGuard

import narwhals as nw
import polars as pl
from narwhals import Implementation

from engine.errors import InvalidEvidenceError

Table: TypeAlias = nw.LazyFrame[Any]

# Characters of what an engine says.
_REASON_LENGTH: Final = 300
# More than any table has.
_MOST_ROWS: Final = 2**62
# Engines that Ibis runs in this process, which lack what the queries need.
_IN_PROCESS: Final = frozenset({"polars"})
_WITHOUT_NAN: Final = frozenset({"sqlite", "mysql", "mssql", "oracle"})
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
    return (
        isinstance(frame, nw.LazyFrame)
        and frame.implementation in _ENGINES
        and engine_of(frame) not in _IN_PROCESS
    )


def engine_of(table: Table) -> str:
    """Name the engine of a lazy table, such as `postgres`; one that is reached by Ibis as Ibis does."""
    native = table.to_native()
    if not hasattr(native, "get_backend"):
        return str(table.implementation.value)
    try:
        return str(native.get_backend().name)
    except Exception:  # noqa: BLE001  # Ibis imports its errors with itself; a table of no engine
        return "ibis"


def fetch(query: Table) -> pl.DataFrame:
    """Run a query, and fetch its rows; InvalidEvidenceError for what its engine refuses or does not know."""
    if query.implementation not in _ENGINES:
        return query.collect().to_polars()
    try:
        rows: pl.DataFrame = query.collect("polars").to_native()
    except Exception as refused:
        reason = " ".join(str(refused).split())[:_REASON_LENGTH].rstrip(".")
        raise InvalidEvidenceError(
            f"{engine_of(query)} cannot count this table: {reason}. Give its rows as a data frame instead"
        ) from refused
    return rows


def without_nan(table: Table, names: Sequence[str]) -> Table:
    """Replace NaN by null in the named columns, of engines that have it."""
    if engine_of(table) in _WITHOUT_NAN:
        return table
    schema = table.collect_schema()
    return table.with_columns(nw.col(name).fill_nan(None) for name in names if schema[name].is_float())


def can_order_steps(table: Table) -> bool:
    """Tell whether the table's engine reads nested queries of funnels; the parser of SQLite does not."""
    return engine_of(table) != "sqlite"


def computed_once(table: Table) -> Table:
    """Keep an engine from writing out the columns of a table at each of their uses.

    PostgreSQL does, and so do their columns: sums of squares take minutes. It does not behind a limit.
    """
    return table.head(_MOST_ROWS) if engine_of(table) == "postgres" else table


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
