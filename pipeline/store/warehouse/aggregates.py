"""Aggregates: a table of sums per experiment, by goal and name of the sum, variant, day and segment value.

The rows of one cell add up: a refresh adds its differences, and a recount writes one row a cell.
`visitors` have neither goal nor sum. They and the sums of the cohort are by the day of first exposure,
`conversions` by the day of a visitor's first conversion, and `total` by the day of the event. Sums of the
values of quantiles have a `bucket`, too: they are of the cohort, and their `cohort_conversions` count each
visitor in the lowest.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import polars as pl

from engine.measures.sums import BUCKET_SUMS, MONEY
from engine.measures.sums import SUMS as SUMS_OF_GOALS
from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.segment_dimensions import equals
from pipeline.store.warehouse.visitors import result_table

# Dimension and value of the sums over all visitors.
EVERYONE: Final = ""
# Dimension of first conversions of the primary goal by days since first exposure, stored like a segment.
# Its value is the number of days.
SINCE_EXPOSURE: Final = "days_since_exposure"
# The names of sums in frames of many cells: grouping and sorting by texts takes several times as long.
SUM_NAMES: Final = pl.Enum([*SUMS_OF_GOALS, *BUCKET_SUMS])
# Arrow has no 128-bit integers, so they are exchanged as decimals without places.
_WIDE: Final = pl.Decimal(38, 0)
_READ: Final = {
    "variant": pl.UInt8,
    "goal": pl.UInt8,
    "sum": pl.String,
    "day": pl.Int32,
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
_KEYS: Final = ("dimension", "value", "variant", "goal", "sum", "day", "bucket")
# Columns of sums, with their types.
SUMS: Final = {
    "visitors": "BIGINT",
    "conversions": "BIGINT",
    "total": "BIGINT",
    "cohort_conversions": "BIGINT",
    "cohort_total": "BIGINT",
    "cohort_squared": "DECIMAL(38, 0)",
    "cohort_cubed_high": "DECIMAL(38, 0)",
    "cohort_cubed_low": "DECIMAL(38, 0)",
}
_COLUMNS: Final = ", ".join(
    ["dimension VARCHAR, value VARCHAR, variant UTINYINT, goal UTINYINT, sum VARCHAR"]
    + ["day INTEGER, bucket INTEGER"]
    + [f"{name} {kind}" for name, kind in SUMS.items()]
)
_POWERS: Final = ("cohort_squared", "cohort_cubed_high", "cohort_cubed_low")
# Bounds of variants and goals, with their marks, of sums and of days in the order of cells.
_MARKS: Final = 256
_SUMS: Final = 16
_DAYS: Final = 2**18
# Columns that have no meaning in totals over all days.
_BY_DAY: Final = ("day", "total")


def no_cells() -> pl.DataFrame:
    """Return the empty result of `read_value`."""
    return pl.DataFrame(schema=_READ)


def no_totals() -> pl.DataFrame:
    """Return the empty result of `read_totals`."""
    names = {"dimension": pl.String, "value": pl.String}
    return pl.DataFrame(schema=names | {name: kind for name, kind in _READ.items() if name not in _BY_DAY})


def sums(experiment_id: str, condition: str = "true") -> str:
    """Build the subquery of the sums of an experiment's cells that meet a condition, one row a cell."""
    totals = (f"sum({name})::{kind} AS {name}" for name, kind in SUMS.items())
    return f"""(
      SELECT * FROM (
        SELECT {", ".join([*_KEYS, *totals])} FROM {result_table("aggregates", experiment_id)}
        WHERE {condition} GROUP BY ALL
      ) WHERE {" OR ".join(f"{name} <> 0" for name in SUMS)}
    )"""


def replace(cursor: Cursor, experiment_id: str, cells: pl.DataFrame) -> None:
    """Replace the sums of an experiment."""
    cursor.execute(f"CREATE OR REPLACE TABLE {result_table('aggregates', experiment_id)} ({_COLUMNS})")
    add(cursor, experiment_id, _in_order(cells))


def _in_order(cells: pl.DataFrame) -> pl.DataFrame:
    """Sort cells by their keys, so that blocks of the table are small and those of one value are together.

    Each distinct text is compared once, and cells by one number: a sixth of the time of sorting by all keys.
    """
    values = ["dimension", "value"]
    places = cells.select(values).unique().sort(values).with_row_index("place")
    key = pl.col("place").cast(pl.UInt64)
    parts = (
        (pl.col("variant"), _MARKS),
        (pl.col("goal").fill_null(_MARKS - 1), _MARKS),
        (pl.col("sum").cast(SUM_NAMES).to_physical().fill_null(_SUMS - 1), _SUMS),
        (pl.col("day") + _DAYS // 2, _DAYS),
    )
    for part, size in parts:
        key = key * size + part.cast(pl.UInt64)
    return cells.join(places, on=values, how="left").sort(key).drop("place")


def add(cursor: Cursor, experiment_id: str, cells: pl.DataFrame) -> None:
    """Add to the sums of an experiment."""
    added = FrameStream(cells.cast({pl.Int128: _WIDE}))  # noqa: F841
    cursor.execute(f"INSERT INTO {result_table('aggregates', experiment_id)} BY NAME SELECT * FROM added")


def remove_dimensions(cursor: Cursor, experiment_id: str, dimensions: Collection[str]) -> None:
    """Remove the sums of these dimensions."""
    table = result_table("aggregates", experiment_id)
    cursor.execute(f"DELETE FROM {table} WHERE dimension IN (SELECT unnest(?))", [list(dimensions)])


def count_rows(cursor: Cursor, experiment_ids: Iterable[str]) -> dict[str, int]:
    """Count the rows of each experiment's sums."""
    counts = {one: f"SELECT count(*) FROM {result_table('aggregates', one)}" for one in experiment_ids}
    # One by one: a statement holds blocks of each of its tables in memory.
    return {one: cursor.execute(query).fetchall()[0][0] for one, query in counts.items()}


def read_all(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read all sums of an experiment."""
    cells = fetch_frame(cursor, f"SELECT * FROM {result_table('aggregates', experiment_id)}")
    names = pl.col(list(SUMS))
    added = cells.cast({_WIDE: pl.Int128}).cast({"sum": SUM_NAMES}).group_by(_KEYS).agg(names.sum())
    return added.filter(pl.any_horizontal(names != 0))


def read_value(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> pl.DataFrame:
    """Read the sums of one value of one dimension; values that compare equal have cells of their own."""
    of_value = f"dimension = ? AND {equals(dimension, 'value')}"
    cells = fetch_frame(
        cursor,
        f"""
        SELECT {", ".join(_READ)} FROM {sums(experiment_id, of_value)}
        """,
        [dimension, value],
    )
    return cells.cast({_WIDE: pl.Int128})


def read_totals(
    cursor: Cursor, experiment_id: str, last_days: Mapping[int, int] | None = None
) -> pl.DataFrame:
    """Read totals over all days, of every value of every dimension, and of EVERYONE.

    Sums of the cohorts of goals in `last_days` are of visitors first exposed up to these days.
    """
    is_later = " OR ".join(f"goal = {goal:d} AND day > {last:d}" for goal, last in (last_days or {}).items())
    condition = "dimension <> ?" + (f" AND NOT coalesce({is_later}, false)" if is_later else "")
    cells = fetch_frame(
        cursor,
        f"""
        SELECT dimension, value, variant, goal, sum, bucket,
          sum(visitors)::BIGINT AS visitors, sum(conversions)::BIGINT AS conversions,
          sum(cohort_conversions)::BIGINT AS cohort_conversions,
          sum(cohort_total)::BIGINT AS cohort_total,
          {", ".join(f"sum({name})::DECIMAL(38, 0) AS {name}" for name in _POWERS)}
        FROM {sums(experiment_id, condition)} GROUP BY ALL
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
        FROM {result_table("aggregates", experiment_id)} WHERE goal IS NULL
        GROUP BY ALL HAVING sum(visitors) <> 0
        """,
    )


def read_since_exposure(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Read first `conversions` of the primary goal, by `day` of first exposure and `days_since` it."""
    return fetch_frame(
        cursor,
        f"""
        SELECT variant, goal, day, value::INTEGER AS days_since,
          sum(cohort_conversions)::BIGINT AS conversions
        FROM {result_table("aggregates", experiment_id)} WHERE dimension = ?
        GROUP BY ALL HAVING sum(cohort_conversions) <> 0
        """,
        [SINCE_EXPOSURE],
    )


def read_segment_cohorts(cursor: Cursor, experiment_id: str, last_days: Mapping[int, int]) -> pl.DataFrame:
    """Count visitors of every value of every dimension, and of EVERYONE, as `segment_sums.read_cohorts` does.

    One row per `dimension`, `value`, `goal` and `variant`.
    """
    return fetch_frame(
        cursor,
        " UNION ALL ".join(
            f"""
            SELECT dimension, value, {goal:d}::UTINYINT AS goal, variant, sum(visitors)::BIGINT AS observed,
              sum(cohort_conversions)::BIGINT AS conversions
            FROM {sums(experiment_id, f"(goal IS NULL OR {_of_goal(goal)}) AND day <= {last_day:d}")}
            WHERE dimension <> '{SINCE_EXPOSURE}' GROUP BY ALL
            """
            for goal, last_day in last_days.items()
        ),
    )


def read_value_cohorts(
    cursor: Cursor, experiment_id: str, dimension: str, value: str, last_days: Mapping[int, int]
) -> pl.DataFrame:
    """Count the visitors of one value of one dimension, as `segment_sums.read_cohorts` does."""
    of_value = f"dimension = ? AND {equals(dimension, 'value')}"
    parts = (
        f"""
        SELECT {goal:d}::UTINYINT AS goal, variant, day, sum(visitors)::BIGINT AS observed,
          sum(cohort_conversions)::BIGINT AS conversions
        FROM (FROM cells WHERE (goal IS NULL OR {_of_goal(goal)}) AND day <= {last_day:d}) GROUP BY ALL
        """
        for goal, last_day in last_days.items()
    )
    query = f"WITH cells AS (FROM {sums(experiment_id, of_value)}) {' UNION ALL '.join(parts)}"
    return fetch_frame(cursor, query, [dimension, value])


def has_buckets(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether there are sums by bucket, as of an experiment with quantiles."""
    table = result_table("aggregates", experiment_id)
    return bool(cursor.execute(f"SELECT 1 FROM {table} WHERE bucket IS NOT NULL LIMIT 1").fetchall())


def sums_with_values(cursor: Cursor, experiment_id: str) -> list[tuple[int, str]]:
    """List the goals, by position, and the names of their sums in which some visitor has a value."""
    return cursor.execute(
        f"""
        SELECT DISTINCT goal, sum FROM {sums(experiment_id, "dimension = ? AND bucket IS NULL")}
        WHERE cohort_squared > 0 ORDER BY ALL
        """,
        [EVERYONE],
    ).fetchall()


def read_values(cursor: Cursor, experiment_id: str, *, variants: int) -> list[tuple[str, str]]:
    """List every dimension and value with visitors of one of the `variants`, in order.

    Higher numbers mark visitors counted in no variant, such as bots.
    """
    return cursor.execute(
        f"""
        SELECT DISTINCT dimension, value
        FROM {sums(experiment_id, "goal IS NULL AND variant < ? AND dimension NOT IN (?, ?)")}
        WHERE visitors > 0 ORDER BY dimension, value
        """,
        [variants, EVERYONE, SINCE_EXPOSURE],
    ).fetchall()


def _of_goal(goal: int) -> str:
    """Build the SQL condition that a cell has the conversions of a goal."""
    return f"goal = {goal:d} AND sum = '{MONEY.name}'"
