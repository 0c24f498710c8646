"""Order of funnel steps: the events of a funnel that come after all steps before."""

from typing import Final

import polars as pl

# The pre-period has a funnel of its own.
_VISITOR_AND_FUNNEL: Final = ("experiment", "visitor_key", "goal", "is_before")


def keep_in_order(events: pl.LazyFrame, last_step: int) -> pl.LazyFrame:
    """Keep the events of funnels that are of their last step and in order, and all events of other goals.

    `events` have the `step` and `last_step` of `goal_rows`, of which `last_step` is the largest. A visitor
    reaches a step at its first event that is not before the time of the step before; equal times are in
    order. Refunds reach no step.
    """
    others = events.filter(pl.col("step").is_null())
    funnels = events.filter(pl.col("step").is_not_null()).with_columns(
        (pl.col("occurred_at") < pl.col("first_exposed_at")).alias("is_before"),
        pl.lit(None, pl.Int64).alias("reached_at"),
    )
    is_in_order = pl.col("occurred_at") >= pl.col("reached_at")
    for step in range(last_step):
        is_done = (pl.col("step") == step) & ~pl.col("is_refund")
        done = pl.col("occurred_at").filter(is_done & is_in_order if step else is_done)
        reached = done.min().over(_VISITOR_AND_FUNNEL)
        is_shorter = pl.col("last_step") <= step
        funnels = funnels.with_columns(
            pl.when(is_shorter).then("reached_at").otherwise(reached).alias("reached_at")
        )
    of_last = funnels.filter((pl.col("step") == pl.col("last_step")) & is_in_order)
    return pl.concat([others, of_last.drop("is_before", "reached_at")])
