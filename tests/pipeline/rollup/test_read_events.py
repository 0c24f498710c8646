import polars as pl

from pipeline.rollup.read_events import find_repeated_keys


def test_keys_that_occur_more_than_once_are_listed_once() -> None:
    keys = pl.Series([3, 1, 3, 2**64 - 1, 3, 2**64 - 1], dtype=pl.UInt64)
    assert find_repeated_keys(keys).sort().to_list() == [3, 2**64 - 1]
