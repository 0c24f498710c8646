import polars as pl

from pipeline.rollup.read_events import find_repeated_keys, find_repeated_orders, no_repeated_orders


def test_keys_that_occur_more_than_once_are_listed_once() -> None:
    keys = pl.Series([3, 1, 3, 2**64 - 1, 3, 2**64 - 1], dtype=pl.UInt64)
    assert find_repeated_keys(keys).sort().to_list() == [3, 2**64 - 1]


def test_orders_after_the_first_of_rule_and_transaction_are_repeats() -> None:
    orders = pl.DataFrame(
        {"rule": [0, 0, 1], "transaction_key": [7, 7, 7], "seq": [5, 4, 9]},
        schema={"rule": pl.UInt32, "transaction_key": pl.UInt64, "seq": pl.Int64},
    )
    repeated = find_repeated_orders(orders)
    assert repeated.rows() == [(0, 5)]
    assert repeated.schema == no_repeated_orders().schema
