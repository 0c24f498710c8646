"""Sums over the visitor rows of a segment, in the form of the aggregates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.aggregates import goals_with_revenue, no_cells
from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.cubes import cube_sums
from pipeline.store.warehouse.visitors import (
    PAIRS,
    cents_columns,
    cents_of,
    day_column,
    result_table,
    segment_condition,
)

_BY_FIRST_DAY: Final = 0
# Sums of a goal's cents in the query, and as the aggregates name them.
_POWERS: Final = {"squares": "squared", "cubes_high": "cubed_high", "cubes_low": "cubed_low"}


def read_segment(cursor: Cursor, experiment_id: str, goals: int, segment: Mapping[str, str]) -> pl.DataFrame:
    """Sum up the visitors who have every value of `segment`: cells as `aggregates.read_value` has them."""
    condition = segment_condition(cursor, experiment_id, segment)
    revenue_goals = goals_with_revenue(cursor, experiment_id)
    numbers = [*range(goals), *(goal for goal in revenue_goals if goal >= PAIRS)]
    sums = fetch_frame(cursor, _sums_query(experiment_id, numbers, revenue_goals, condition))
    parts = [_visitors(sums), *_conversions(sums, numbers, revenue_goals)]
    if revenue_goals:
        parts += _revenue(fetch_frame(cursor, _moved_query(experiment_id, condition)))
    # Sums that a part lacks stay null, which adds nothing.
    return pl.concat([no_cells(), *parts], how="diagonal")


def read_cohorts(
    cursor: Cursor, experiment_id: str, last_days: Mapping[int, int], segment: Mapping[str, str]
) -> pl.DataFrame:
    """Count the visitors who have every value of `segment`, up to the last day of first exposure of a goal.

    `last_days` are days since 1970 by the goal's position. One row per `goal`, `variant` and `day` of first
    exposure: `observed` visitors and their `conversions`, whenever those were. At least one goal is given.
    """
    table, condition = (
        result_table("visitors", experiment_id),
        segment_condition(cursor, experiment_id, segment),
    )
    return fetch_frame(
        cursor,
        " UNION ALL ".join(
            f"""
            SELECT {goal:d}::UTINYINT AS goal, variant, first_day AS day, count(*)::BIGINT AS observed,
              count({day_column(goal)})::BIGINT AS conversions
            FROM {table} WHERE first_day <= {last_day:d} AND {condition} GROUP BY ALL
            """
            for goal, last_day in last_days.items()
        ),
    )


def _sums_query(
    experiment_id: str, goals: Sequence[int], revenue_goals: Sequence[int], condition: str
) -> str:
    """Build the query: one pass over all visitors, and several over the few columns of those selected."""
    kept = [
        *("variant", "first_day"),
        *(day_column(goal) for goal in goals if goal < PAIRS),
        *dict.fromkeys(column for goal in revenue_goals for column in cents_columns(goal)),
    ]
    revenue = [
        f"sum({cents})::BIGINT AS cents_{goal}, "
        f"sum({cents}::HUGEINT * {cents})::DECIMAL(38, 0) AS squares_{goal}, "
        "{} AS cubes_high_{goal}, {} AS cubes_low_{goal}".format(*cube_sums(cents), goal=goal)
        for goal in revenue_goals
        for cents in [cents_of(goal)]
    ]
    by_first_day = f"""
        SELECT variant, first_day AS day, {_BY_FIRST_DAY} AS grouped_by,
          {", ".join(["count(*) AS visitors", *revenue])} FROM selected GROUP BY ALL
    """
    by_conversion = [
        f"""
        SELECT variant, {day_column(goal)} AS day, {goal + 1} AS grouped_by, count(*) AS visitors
          {f", sum({cents_of(goal)})::BIGINT AS cents_{goal}" if goal in revenue_goals else ""}
        FROM selected WHERE {day_column(goal)} IS NOT NULL GROUP BY ALL
        """
        for goal in goals
    ]
    return f"""
        WITH selected AS MATERIALIZED (
          SELECT {", ".join(kept)} FROM {result_table("visitors", experiment_id)} WHERE {condition}
        )
        {" UNION ALL BY NAME ".join([by_first_day, *by_conversion])}
    """


def _moved_query(experiment_id: str, condition: str) -> str:
    return f"""
        SELECT v.variant, o.goal, o.day, o.from_day, sum(o.cents)::BIGINT AS cents
        FROM {result_table("orders", experiment_id)} o
        JOIN {result_table("visitors", experiment_id)} v USING (visitor_key)
        WHERE {condition} GROUP BY ALL
    """


def _visitors(sums: pl.DataFrame) -> pl.DataFrame:
    return sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select("variant", "day", "visitors")


def _conversions(
    sums: pl.DataFrame, goals: Iterable[int], revenue_goals: Sequence[int]
) -> Iterator[pl.DataFrame]:
    for goal in goals:
        place = ("variant", pl.lit(goal, pl.UInt8).alias("goal"), "day")
        converted = sums.filter(pl.col("grouped_by") == goal + 1)
        yield converted.select(*place, pl.col("visitors").alias("conversions"))
        if goal in revenue_goals:
            yield converted.select(*place, pl.col(f"cents_{goal}").alias("cents"))
            yield sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select(
                *place,
                pl.col(f"cents_{goal}").alias("cohort_cents"),
                *(
                    pl.col(f"{part}_{goal}").cast(pl.Int128).alias(f"cohort_cents_{name}")
                    for part, name in _POWERS.items()
                ),
            )


def _revenue(moved: pl.DataFrame) -> list[pl.DataFrame]:
    """Move cents of orders on other days from the day of the first conversion to their own."""
    place = ("variant", "goal")
    return [
        moved.select(*place, "day", "cents"),
        moved.filter(pl.col("from_day").is_not_null()).select(
            *place, pl.col("from_day").alias("day"), -pl.col("cents")
        ),
    ]
