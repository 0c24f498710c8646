"""How sums are kept: one table an experiment, a cell for each goal, variant, day and value of a segment."""

from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.visitors import result_table

# The dimension, and the value, of the cells that sum up all visitors.
EVERYONE: Final = ""
# The dimension of the cells that sum up first conversions of the primary goal by days since first exposure:
# no segment, though kept like one. Their value is the number of days.
SINCE_EXPOSURE: Final = "days_since_exposure"
# 128 bits travel through Arrow as a decimal without places.
_WIDE: Final = pl.Decimal(38, 0)
_COLUMNS: Final = (
    "dimension VARCHAR, value VARCHAR, variant UTINYINT, goal UTINYINT, day INTEGER, "
    "visitors BIGINT, conversions BIGINT, cents BIGINT, "
    "cohort_conversions BIGINT, cohort_cents BIGINT, cohort_cents_squared DECIMAL(38, 0)"
)
_READ: Final = {
    "variant": pl.UInt8,
    "goal": pl.UInt8,
    "day": pl.Int32,
    "visitors": pl.Int64,
    "conversions": pl.Int64,
    "cents": pl.Int64,
    "cohort_cents": pl.Int64,
    "cohort_cents_squared": pl.Int128,
}
# What means nothing where all days are together.
_BY_DAY: Final = ("day", "cents")


def no_cells() -> pl.DataFrame:
    """What `read_value` returns of a value that nobody has."""
    return pl.DataFrame(schema=_READ)


def no_totals() -> pl.DataFrame:
    """What `read_totals` returns where nobody came."""
    names = {"dimension": pl.String, "value": pl.String}
    return pl.DataFrame(schema=names | {name: kind for name, kind in _READ.items() if name not in _BY_DAY})


def replace(cursor: Cursor, experiment_id: str, cells: pl.DataFrame) -> None:
    """Keep these cells instead of those that were there."""
    table = result_table("aggregates", experiment_id)
    cursor.execute(f"CREATE OR REPLACE TABLE {table} ({_COLUMNS})")
    in_order = cells.sort("dimension", "value", "variant", "goal", "day")
    with registered(cursor, "cells", in_order.cast({pl.Int128: _WIDE})):
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM cells")


def read_all(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Every cell."""
    cells = fetch_frame(cursor, f"SELECT * FROM {result_table('aggregates', experiment_id)}")
    return cells.cast({"cohort_cents_squared": pl.Int128})


def read_value(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> pl.DataFrame:
    """The cells of one value of one dimension."""
    cells = fetch_frame(
        cursor,
        f"""
        SELECT {", ".join(_READ)} FROM {result_table("aggregates", experiment_id)}
        WHERE dimension = ? AND value = ?
        """,
        [dimension, value],
    )
    return cells.cast({"cohort_cents_squared": pl.Int128})


def read_totals(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """All days together: the sums of every value of every dimension, and of EVERYONE."""
    cells = fetch_frame(
        cursor,
        f"""
        SELECT dimension, value, variant, goal,
          sum(visitors)::BIGINT AS visitors, sum(conversions)::BIGINT AS conversions,
          sum(cohort_cents)::BIGINT AS cohort_cents, sum(cohort_cents_squared) AS cohort_cents_squared
        FROM {result_table("aggregates", experiment_id)} WHERE dimension <> ? GROUP BY ALL
        """,
        [SINCE_EXPOSURE],
    )
    return cells.cast({"cohort_cents_squared": pl.Int128})


def read_visitors(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """The same of visitors only, who are of no goal in particular."""
    return fetch_frame(
        cursor,
        f"""
        SELECT dimension, value, variant, goal, sum(visitors)::BIGINT AS visitors
        FROM {result_table("aggregates", experiment_id)} WHERE goal IS NULL GROUP BY ALL
        """,
    )


def read_since_exposure(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """First `conversions` of the primary goal, by `day` of first exposure and `days_since` it."""
    return fetch_frame(
        cursor,
        f"""
        SELECT variant, goal, day, value::INTEGER AS days_since, cohort_conversions AS conversions
        FROM {result_table("aggregates", experiment_id)} WHERE dimension = ?
        """,
        [SINCE_EXPOSURE],
    )


def goals_with_money(cursor: Cursor, experiment_id: str) -> list[int]:
    """The goals for which anybody paid anything, in order."""
    rows = cursor.execute(
        f"""
        SELECT DISTINCT goal FROM {result_table("aggregates", experiment_id)}
        WHERE dimension = ? AND cohort_cents_squared > 0 ORDER BY goal
        """,
        [EVERYONE],
    ).fetchall()
    return [goal for (goal,) in rows]


def read_values(cursor: Cursor, experiment_id: str) -> list[tuple[str, str]]:
    """Every dimension and value that visitors were summed up for, in order."""
    return cursor.execute(
        f"""
        SELECT DISTINCT dimension, value FROM {result_table("aggregates", experiment_id)}
        WHERE visitors > 0 AND dimension NOT IN (?, ?) ORDER BY dimension, value
        """,
        [EVERYONE, SINCE_EXPOSURE],
    ).fetchall()
