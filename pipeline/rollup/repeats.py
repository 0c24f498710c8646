"""Which events say again what an earlier one said: of a repeat only the first counts."""

import polars as pl


def repeated(keys: pl.Series) -> pl.Series:
    """The keys that occur more than once, each once."""
    # Sorting numbers is several times faster than counting them in a hash table.
    in_order = keys.sort()
    return in_order.filter(in_order == in_order.shift(1)).unique()


def repeated_orders(orders: pl.DataFrame) -> pl.DataFrame:
    """Of `orders` (`rule`, `transaction_key`, `seq`) those that are not the first of rule and transaction."""
    first = pl.col("seq").min().over("rule", "transaction_key")
    return orders.filter(pl.col("seq") != first).select("rule", "seq")


def no_repeated_orders() -> pl.DataFrame:
    """What `repeated_orders` returns where there are none."""
    return pl.DataFrame(schema={"rule": pl.UInt32, "seq": pl.Int64})
