"""Money that an event counts for a goal."""

import polars as pl

from pipeline.store.warehouse.events import SENDER_BITS


def count_money(hits: pl.LazyFrame) -> pl.LazyFrame:
    """Select the `hits` that count for the goal beside them (see `goal_rows`), with the `cents` that do.

    `cents` is the part of the event's revenue that the goal counts, negative for a refund. Where only
    servers' money counts, a browser's event with money or a refund is none of a revenue goal, and any other
    goal's without.
    """
    in_currency = pl.col("currency").is_null() | (pl.col("currency") == pl.col("goal_currency"))
    is_money = ~pl.col("is_value") | pl.col("takes_value")
    has_money = pl.col("is_refund") | (is_money & (pl.col("cents") != 0).fill_null(value=False))
    is_distrusted = pl.col("trusts_servers_only") & (pl.col("sender") == SENDER_BITS["browser"]) & has_money
    cents = pl.when(in_currency & is_money & ~is_distrusted).then(pl.col("cents").abs()).fill_null(0)
    sign = pl.when("is_refund").then(-1).otherwise(1)
    is_in_bounds = in_currency & cents.is_between("min_cents", "max_cents") & ~is_distrusted
    return hits.filter(~pl.col("is_revenue") | is_in_bounds).with_columns((cents * sign).alias("cents"))
