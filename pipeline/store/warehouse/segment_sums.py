"""What the visitors of a segment add up to, straight from their rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.aggregates import goals_with_money, no_cells
from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.visitors import result_table, within_segment

_BY_FIRST_DAY: Final = 0


def read_segment(cursor: Cursor, experiment_id: str, goals: int, segment: Mapping[str, str]) -> pl.DataFrame:
    """Sum up the visitors who have every value of `segment`: cells as `aggregates.read_value` has them."""
    chosen = within_segment(cursor, experiment_id, segment)
    paid = goals_with_money(cursor, experiment_id)
    sums = fetch_frame(cursor, _sums_query(experiment_id, goals, paid, chosen))
    parts = [_visitors(sums), *_conversions(sums, range(goals), paid)]
    if paid:
        parts += _money(fetch_frame(cursor, _moved_query(experiment_id, chosen)))
    # What there is nothing to say of stays null, which adds nothing.
    return pl.concat([no_cells(), *parts], how="diagonal")


def _sums_query(experiment_id: str, goals: int, paid: Sequence[int], chosen: str) -> str:
    """One pass over all visitors, and a few over those chosen, of whom only numbers are kept."""
    kept = [
        *("variant", "first_day"),
        *(f"g{goal}_day" for goal in range(goals)),
        *(f"g{goal}_cents" for goal in paid),
    ]
    money = [
        f"sum(g{goal}_cents)::BIGINT AS cents_{goal}, "
        f"sum(g{goal}_cents::HUGEINT * g{goal}_cents)::DECIMAL(38, 0) AS squares_{goal}"
        for goal in paid
    ]
    by_first_day = f"""
        SELECT variant, first_day AS day, {_BY_FIRST_DAY} AS grouped_by,
          {", ".join(["count(*) AS visitors", *money])} FROM chosen GROUP BY ALL
    """
    by_conversion = [
        f"""
        SELECT variant, g{goal}_day AS day, {goal + 1} AS grouped_by, count(*) AS visitors
          {f", sum(g{goal}_cents)::BIGINT AS cents_{goal}" if goal in paid else ""}
        FROM chosen WHERE g{goal}_day IS NOT NULL GROUP BY ALL
        """
        for goal in range(goals)
    ]
    return f"""
        WITH chosen AS MATERIALIZED (
          SELECT {", ".join(kept)} FROM {result_table("visitors", experiment_id)} WHERE {chosen}
        )
        {" UNION ALL BY NAME ".join([by_first_day, *by_conversion])}
    """


def _moved_query(experiment_id: str, chosen: str) -> str:
    return f"""
        SELECT v.variant, o.goal, o.day, o.from_day, sum(o.cents)::BIGINT AS cents
        FROM {result_table("orders", experiment_id)} o
        JOIN {result_table("visitors", experiment_id)} v USING (visitor_key)
        WHERE {chosen} GROUP BY ALL
    """


def _visitors(sums: pl.DataFrame) -> pl.DataFrame:
    return sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select("variant", "day", "visitors")


def _conversions(sums: pl.DataFrame, goals: Iterable[int], paid: Sequence[int]) -> Iterator[pl.DataFrame]:
    for goal in goals:
        place = ("variant", pl.lit(goal, pl.UInt8).alias("goal"), "day")
        converted = sums.filter(pl.col("grouped_by") == goal + 1)
        yield converted.select(*place, pl.col("visitors").alias("conversions"))
        if goal in paid:
            yield converted.select(*place, pl.col(f"cents_{goal}").alias("cents"))
            yield sums.filter(pl.col("grouped_by") == _BY_FIRST_DAY).select(
                *place,
                pl.col(f"cents_{goal}").alias("cohort_cents"),
                pl.col(f"squares_{goal}").cast(pl.Int128).alias("cohort_cents_squared"),
            )


def _money(moved: pl.DataFrame) -> list[pl.DataFrame]:
    """Cents that belong to another day than that of the first conversion, where they are counted so far."""
    place = ("variant", "goal")
    return [
        moved.select(*place, "day", "cents"),
        moved.filter(pl.col("from_day").is_not_null()).select(
            *place, pl.col("from_day").alias("day"), -pl.col("cents")
        ),
    ]
