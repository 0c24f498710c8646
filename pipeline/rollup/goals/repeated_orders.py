"""Orders and refunds that do not count, because others of the same transaction do."""

import polars as pl

from pipeline.rollup.goals.goal_money import count_money
from pipeline.store.warehouse.events import TRUSTED_BITS

_TRANSACTION = ("rule", "transaction_key")


def find_repeated_orders(orders: pl.DataFrame, rules: pl.DataFrame, factors: pl.DataFrame) -> pl.DataFrame:
    """Find the events (`visitor_key`, `rule`, `seq`) that do not count for a rule for their transaction.

    `orders` are events with a `transaction_key` and a `match`, all those of their transactions; `rules` has
    the rows of `goal_rows` for each `match`, and `factors` are those of `count_money`. A browser's order
    gives way to a server's of its transaction, a browser's refund to a server's order or refund. Of other
    orders that count for the rule, the first does.
    """
    is_trusted = pl.col("sender") & TRUSTED_BITS != 0
    is_reported = is_trusted.any().over(_TRANSACTION)
    is_ordered = (is_trusted & ~pl.col("is_refund")).any().over(_TRANSACTION)
    is_outranked = ~is_trusted & pl.when("is_refund").then(is_reported).otherwise(is_ordered)
    ranked = orders.join(rules, on="match").with_columns(is_outranked.alias("is_outranked"))
    counted = count_money(ranked.lazy().filter(~pl.col("is_outranked") & ~pl.col("is_refund")), factors)
    later = counted.filter(pl.col("seq") != pl.col("seq").min().over(_TRANSACTION))
    found = (
        part.select("visitor_key", "rule", "seq") for part in (ranked.lazy().filter("is_outranked"), later)
    )
    return pl.concat(found).collect()
