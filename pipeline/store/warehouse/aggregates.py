"""Aggregates: a table of sums per experiment, a row per goal, variant, day and segment value."""

from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.segment_dimensions import equals
from pipeline.store.warehouse.visitors import result_table

# Dimension and value of the sums over all visitors.
EVERYONE: Final = ""
# Dimension of first conversions of the primary goal by days since first exposure, stored like a segment.
# Its value is the number of days.
SINCE_EXPOSURE: Final = "days_since_exposure"
# Arrow has no 128-bit integers, so they are exchanged as decimals without places.
_WIDE: Final = pl.Decimal(38, 0)
_COLUMNS: Final = (
    "dimension VARCHAR, value VARCHAR, variant UTINYINT, goal UTINYINT, day INTEGER, "
    "visitors BIGINT, conversions BIGINT, cents BIGINT, "
    "cohort_conversions BIGINT, cohort_cents BIGINT, cohort_cents_squared DECIMAL(38, 0), "
    "cohort_cents_cubed_high DECIMAL(38, 0), cohort_cents_cubed_low DECIMAL(38, 0)"
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
    "cohort_cents_cubed_high": pl.Int128,
    "cohort_cents_cubed_low": pl.Int128,
}
_POWERS: Final = ("cohort_cents_squared", "cohort_cents_cubed_high", "cohort_cents_cubed_low")
# Columns that have no meaning in totals over all days.
_BY_DAY: Final = ("day", "cents")


def no_cells() -> pl.DataFrame:
    """Return the empty result of `read_value`."""
    return pl.DataFrame(schema=_READ)


def no_totals() -> pl.DataFrame:
    """Return the empty result of `read_totals`."""
    names = {"dimension": pl.String, "value": pl.String}
    return pl.DataFrame(schema=names | {name: kind for name, kind in _READ.items() if name not in _BY_DAY})


def replace(cursor: Cursor, experiment_id: str, cells: pl.DataFrame) -> None:
    """Replace the sums of an experiment."""
    table = result_table("aggregates", experiment_id)
    cursor.execute(f"CREATE OR REPLACE TABLE {table} ({_COLUMNS})")
    in_order = cells.sort("dimension", "value", "variant", "goal", "day")
    with registered(cursor, "cells", in_order.cast({pl.Int128: _WIDE})):
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM cells")


def has_cubes(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether the sums have cubes, which version 0.1 did not store."""
    columns = cursor.execute(f"DESCRIBE {result_table('aggregates', experiment_id)}").fetchall()
    return any(name == "cohort_cents_cubed_low" for name, *_ in columns)


def read_all(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read all sums of an experiment."""
    cells = fetch_frame(cursor, f"SELECT * FROM {result_table('aggregates', experiment_id)}")
    return cells.cast({_WIDE: pl.Int128})


def read_value(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> pl.DataFrame:
    """Read the sums of one value of one dimension; values that compare equal have cells of their own."""
    cells = fetch_frame(
        cursor,
        f"""
        SELECT {", ".join(_READ)} FROM {result_table("aggregates", experiment_id)}
        WHERE dimension = ? AND {equals(dimension, "value")}
        """,
        [dimension, value],
    )
    return cells.cast({_WIDE: pl.Int128})


def read_totals(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read totals over all days, of every value of every dimension, and of EVERYONE."""
    cells = fetch_frame(
        cursor,
        f"""
        SELECT dimension, value, variant, goal,
          sum(visitors)::BIGINT AS visitors, sum(conversions)::BIGINT AS conversions,
          sum(cohort_cents)::BIGINT AS cohort_cents,
          {", ".join(f"sum({name})::DECIMAL(38, 0) AS {name}" for name in _POWERS)}
        FROM {result_table("aggregates", experiment_id)} WHERE dimension <> ? GROUP BY ALL
        """,
        [SINCE_EXPOSURE],
    )
    return cells.cast({_WIDE: pl.Int128})


def read_visitors(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read total visitors of every value of every dimension, and of EVERYONE."""
    return fetch_frame(
        cursor,
        f"""
        SELECT dimension, value, variant, goal, sum(visitors)::BIGINT AS visitors
        FROM {result_table("aggregates", experiment_id)} WHERE goal IS NULL GROUP BY ALL
        """,
    )


def read_since_exposure(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read first `conversions` of the primary goal, by `day` of first exposure and `days_since` it."""
    return fetch_frame(
        cursor,
        f"""
        SELECT variant, goal, day, value::INTEGER AS days_since, cohort_conversions AS conversions
        FROM {result_table("aggregates", experiment_id)} WHERE dimension = ?
        """,
        [SINCE_EXPOSURE],
    )


def goals_with_revenue(cursor: Cursor, experiment_id: str) -> list[int]:
    """List the goals with revenue, by position, in order."""
    rows = cursor.execute(
        f"""
        SELECT DISTINCT goal FROM {result_table("aggregates", experiment_id)}
        WHERE dimension = ? AND cohort_cents_squared > 0 ORDER BY goal
        """,
        [EVERYONE],
    ).fetchall()
    return [goal for (goal,) in rows]


def read_values(cursor: Cursor, experiment_id: str, *, variants: int) -> list[tuple[str, str]]:
    """List every dimension and value with visitors of one of the `variants`, in order.

    Higher numbers mark visitors counted in no variant, such as bots.
    """
    return cursor.execute(
        f"""
        SELECT DISTINCT dimension, value FROM {result_table("aggregates", experiment_id)}
        WHERE visitors > 0 AND variant < ? AND dimension NOT IN (?, ?) ORDER BY dimension, value
        """,
        [variants, EVERYONE, SINCE_EXPOSURE],
    ).fetchall()
