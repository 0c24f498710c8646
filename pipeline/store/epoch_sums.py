"""What visitors add up to by the weights that split them, straight from their rows."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.aggregates import goals_with_money
from pipeline.store.frames import Cursor, fetch_frame, registered
from pipeline.store.visitors import result_table, within_segment

_STARTS: Final = pl.Schema({"epoch": pl.Int32, "began": pl.Int64, "settled": pl.Int64})
# Before any moment, and so far from the edge that nothing overflows.
_BEFORE_ALL: Final = -(2**62)


def read_epochs(
    cursor: Cursor,
    experiment_id: str,
    goals: int,
    starts: Sequence[tuple[int, int]],
    segment: Mapping[str, str],
) -> pl.DataFrame:
    """Sum up the visitors who have every value of `segment`, by the epoch of their first exposure.

    `starts` tell of each epoch, in order, when it began and from when on visitors are settled in it, in
    microseconds since 1970. Who came before the first belongs to it, and is settled. One row per `epoch`,
    `variant` and `goal`: `visitors`, those `settled`, `conversions`, `cents` and `cents_squared`.
    """
    table, chosen = result_table("visitors", experiment_id), within_segment(cursor, experiment_id, segment)
    epochs = [(0, _BEFORE_ALL, _BEFORE_ALL), *((i, *starts[i]) for i in range(1, len(starts)))]
    paid = goals_with_money(cursor, experiment_id)
    sums = ", ".join(_sums(goal, has_money=goal in paid) for goal in range(goals))
    query = f"""
        SELECT e.epoch, v.variant, count(*)::BIGINT AS visitors,
          count_if(v.first_exposed_at >= e.settled)::BIGINT AS settled, {sums}
        FROM {table} v ASOF JOIN epoch_starts e ON v.first_exposed_at >= e.began
        WHERE {chosen} GROUP BY ALL
    """
    with registered(cursor, "epoch_starts", pl.DataFrame(epochs, _STARTS, orient="row")):
        wide = fetch_frame(cursor, query)
    return pl.concat([_of_goal(wide, goal) for goal in range(goals)])


def _sums(goal: int, *, has_money: bool) -> str:
    name = f"g{goal}"
    # Cents are summed in 128 bits: whole numbers up to the last division.
    money = (
        f"sum({name}_cents)::BIGINT AS {name}_cents, "
        f"sum({name}_cents::HUGEINT * {name}_cents)::DECIMAL(38, 0) AS {name}_squared"
        if has_money
        else f"0::BIGINT AS {name}_cents, 0::DECIMAL(38, 0) AS {name}_squared"
    )
    return f"count({name}_day)::BIGINT AS {name}_conversions, {money}"


def _of_goal(wide: pl.DataFrame, goal: int) -> pl.DataFrame:
    return wide.select(
        "epoch",
        "variant",
        pl.lit(goal, pl.UInt8).alias("goal"),
        "visitors",
        "settled",
        pl.col(f"g{goal}_conversions").alias("conversions"),
        pl.col(f"g{goal}_cents").alias("cents"),
        pl.col(f"g{goal}_squared").cast(pl.Int128).alias("cents_squared"),
    )
