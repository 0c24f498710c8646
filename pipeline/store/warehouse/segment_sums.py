"""Sums over the visitor rows of a segment, in the form of the aggregates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from engine.measures.sums import BUCKET_SUMS, MONEY
from engine.stats.value_buckets import EXACT, ONE, WIDTH
from pipeline.store.warehouse.aggregates import has_buckets, no_cells, sums_with_values
from pipeline.store.warehouse.connection import fetch_frame
from pipeline.store.warehouse.cubes import cube_sums
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.visitors import day_column, result_table, summed_columns, summed_value

_BY_FIRST_DAY: Final = 0
# Powers of a value in the query, and as the aggregates name their sums.
_POWERS: Final = {"squares": "squared", "cubes_high": "cubed_high", "cubes_low": "cubed_low"}


def read_segment(visitors: SelectedVisitors, goals: int) -> pl.DataFrame:
    """Sum up visitors: cells as `aggregates.read_value` has them."""
    cursor, experiment_id, condition = visitors.cursor, visitors.experiment_id, visitors.condition
    valued = sums_with_values(cursor, experiment_id)
    sums = fetch_frame(cursor, _sums_query(experiment_id, goals, valued, condition))
    parts = [_visitors(sums), *_conversions(sums, goals), *_values(sums, valued)]
    if valued:
        parts += _moved(fetch_frame(cursor, _moved_query(experiment_id, condition)))
    if has_buckets(cursor, experiment_id):
        buckets = fetch_frame(cursor, _buckets_query(experiment_id, condition))
        parts.append(buckets.cast({"cohort_squared": pl.Int128}))
    # Sums that a part lacks stay null, which adds nothing.
    return pl.concat([no_cells(), *parts], how="diagonal")


def read_cohorts(visitors: SelectedVisitors, last_days: Mapping[int, int]) -> pl.DataFrame:
    """Count visitors up to the last day of first exposure of a goal.

    `last_days` are days since 1970 by the goal's position. One row per `goal`, `variant` and `day` of first
    exposure: `observed` visitors and their `conversions`, whenever those were. At least one goal is given.
    """
    return fetch_frame(
        visitors.cursor,
        " UNION ALL ".join(
            f"""
            SELECT {goal:d}::UTINYINT AS goal, variant, first_day AS day, count(*)::BIGINT AS observed,
              count({day_column(goal)})::BIGINT AS conversions
            FROM {visitors.table} WHERE first_day <= {last_day:d} AND {visitors.condition} GROUP BY ALL
            """
            for goal, last_day in last_days.items()
        ),
    )


def _sums_query(experiment_id: str, goals: int, valued: Sequence[tuple[int, str]], condition: str) -> str:
    """Build the query: one pass over all visitors, and several over the few columns of those selected."""
    kept = [
        *("variant", "first_day"),
        *(day_column(goal) for goal in range(goals)),
        *dict.fromkeys(column for goal, name in valued for column in summed_columns(goal, name)),
    ]
    totals = {
        (goal, name): f"sum({summed_value(goal, name)})::BIGINT AS total_{goal}_{name}"
        for goal, name in valued
    }
    by_first_day = f"""
        SELECT variant, first_day AS day, {_BY_FIRST_DAY} AS grouped_by,
          {", ".join(["count(*) AS visitors", *totals.values(), *_powers(valued)])}
        FROM selected GROUP BY ALL
    """
    by_conversion = [
        f"""
        SELECT variant, {day_column(goal)} AS day, {goal + 1} AS grouped_by, count(*) AS visitors
          {"".join(f", {total}" for (place, _), total in totals.items() if place == goal)}
        FROM selected WHERE {day_column(goal)} IS NOT NULL GROUP BY ALL
        """
        for goal in range(goals)
    ]
    return f"""
        WITH selected AS MATERIALIZED (
          SELECT {", ".join(kept)} FROM {result_table("visitors", experiment_id)} WHERE {condition}
        )
        {" UNION ALL BY NAME ".join([by_first_day, *by_conversion])}
    """


def _powers(valued: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield the SQL of squares and of both parts of cubes."""
    for goal, name in valued:
        value = summed_value(goal, name)
        high, low = cube_sums(value)
        yield f"sum({value}::HUGEINT * {value})::DECIMAL(38, 0) AS squares_{goal}_{name}"
        yield f"{high} AS cubes_high_{goal}_{name}, {low} AS cubes_low_{goal}_{name}"


def _moved_query(experiment_id: str, condition: str) -> str:
    return f"""
        SELECT v.variant, o.goal, o.sum, o.day, o.from_day, sum(o.cents)::BIGINT AS total
        FROM {result_table("orders", experiment_id)} o
        JOIN {result_table("visitors", experiment_id)} v USING (visitor_key)
        WHERE o.bucket IS NULL AND {condition} GROUP BY ALL
    """


# The value that a bucket stands for, see `engine.stats.value_buckets`.
VALUE_OF_BUCKET: Final = f"""CASE WHEN abs(bucket) < {EXACT} THEN bucket
    ELSE sign(bucket) * pow({WIDTH}, abs(bucket) - {ONE} + 0.5) END"""


def _buckets_query(experiment_id: str, condition: str) -> str:
    """Build the query of sums by bucket, as `pipeline.rollup.bucket_sums` has them."""
    totals = ("c", "c * lower", "c * (all_values - c)")
    of_sums = [
        f"""
        SELECT variant, goal, '{name}' AS sum, first_day AS day, bucket,
          {"count(*) FILTER (lower = 0)" if name == BUCKET_SUMS[0] else 0}::BIGINT AS cohort_conversions,
          sum({total})::BIGINT AS cohort_total, sum(c * c)::HUGEINT::DECIMAL(38, 0) AS cohort_squared
        FROM placed GROUP BY ALL
        """
        for name, total in zip(BUCKET_SUMS, totals, strict=True)
    ]
    return f"""
        WITH own AS (
          SELECT v.variant, v.first_day, o.visitor_key, o.goal, o.bucket, o.cents AS c,
            {VALUE_OF_BUCKET} AS order_key
          FROM {result_table("orders", experiment_id)} o
          JOIN {result_table("visitors", experiment_id)} v USING (visitor_key)
          WHERE o.bucket IS NOT NULL AND {condition}
        ), placed AS (
          SELECT *, sum(c) OVER visitor AS all_values,
            sum(c) OVER (visitor ORDER BY order_key ROWS UNBOUNDED PRECEDING) - c AS lower
          FROM own WINDOW visitor AS (PARTITION BY visitor_key, goal)
        )
        {" UNION ALL ".join(of_sums)}
    """


def _visitors(sums: pl.DataFrame) -> pl.DataFrame:
    return sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select("variant", "day", "visitors")


def _conversions(sums: pl.DataFrame, goals: int) -> Iterator[pl.DataFrame]:
    """Yield the conversions of each goal, by their day."""
    for goal in range(goals):
        converted = sums.filter(pl.col("grouped_by") == goal + 1)
        yield converted.select(
            *("variant", *_of(goal, MONEY.name), "day"), pl.col("visitors").alias("conversions")
        )


def _values(sums: pl.DataFrame, valued: Sequence[tuple[int, str]]) -> Iterator[pl.DataFrame]:
    """Yield the values of each sum, by the day of the conversion and by that of the first exposure."""
    for goal, name in valued:
        place, total = ("variant", *_of(goal, name), "day"), pl.col(f"total_{goal}_{name}")
        yield sums.filter(pl.col("grouped_by") == goal + 1).select(*place, total.alias("total"))
        yield sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select(
            *place,
            total.alias("cohort_total"),
            *(
                pl.col(f"{part}_{goal}_{name}").cast(pl.Int128).alias(f"cohort_{power}")
                for part, power in _POWERS.items()
            ),
        )


def _of(goal: int, name: str) -> tuple[pl.Expr, pl.Expr]:
    return pl.lit(goal, pl.UInt8).alias("goal"), pl.lit(name).alias("sum")


def _moved(moved: pl.DataFrame) -> list[pl.DataFrame]:
    """Move what was added on other days from the day of the first conversion to their own."""
    place = ("variant", "goal", "sum")
    return [
        moved.select(*place, "day", "total"),
        moved.filter(pl.col("from_day").is_not_null()).select(
            *place, pl.col("from_day").alias("day"), -pl.col("total")
        ),
    ]
