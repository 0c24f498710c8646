"""Order of funnel steps: the events of a funnel that come after all steps before."""

from typing import Final

import polars as pl

# The pre-period has a funnel of its own.
_VISITOR_AND_FUNNEL: Final = ("experiment", "visitor_key", "goal", "is_before")


def split_in_order(events: pl.LazyFrame, last_step: int) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Split events into those that count, and those by which a visitor reached a step of a funnel.

    Of funnels, events count that are of the last step and in order, and of other goals all. The steps reached
    are those since the first exposure, one row of each visitor and step, the last one included.

    `events` have the `step` and `last_step` of `goal_rows`, of which `last_step` is the largest. A visitor
    reaches a step at its first event that is not before the time of the step before; equal times are in
    order. Refunds reach no step.
    """
    others = events.filter(pl.col("step").is_null())
    funnels = events.filter(pl.col("step").is_not_null()).with_columns(
        (pl.col("occurred_at") < pl.col("first_exposed_at")).alias("is_before"),
        (pl.col("step") == 0).alias("is_in_order"),
    )
    for step in range(last_step):
        is_done = (pl.col("step") == step) & pl.col("is_in_order") & ~pl.col("is_refund")
        reached = pl.col("occurred_at").filter(is_done).min().over(_VISITOR_AND_FUNNEL)
        is_after = (pl.col("occurred_at") >= reached).fill_null(value=False)
        funnels = funnels.with_columns(
            pl.when(pl.col("step") == step + 1).then(is_after).otherwise("is_in_order").alias("is_in_order")
        )
    in_order = funnels.filter("is_in_order")
    of_last = in_order.filter(pl.col("step") == pl.col("last_step")).drop("is_before", "is_in_order")
    steps = (
        in_order.filter(~pl.col("is_before") & ~pl.col("is_refund"))
        .drop("is_before", "is_in_order")
        .unique(["experiment", "visitor_key", "goal", "step"])
    )
    return pl.concat([others, of_last]), steps
