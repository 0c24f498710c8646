from pathlib import Path

import polars as pl

from pipeline.store.warehouse.imports.content_counts import ContentCounts
from tests.pipeline.working_store import a_working_store


def hashes(*numbers: int) -> pl.Series:
    return pl.Series(numbers, dtype=pl.UInt64)


def test_each_hash_is_counted_as_often_as_it_was_added(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store, store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "read")
        counts.add(hashes(7, 7, 2**64 - 1))
        counts.add(hashes(7))
        assert counts.count(hashes(2**64 - 1, 5, 7, 7)).to_list() == [1, 0, 3, 3]
        assert counts.count(hashes()).to_list() == []


def test_two_multisets_are_apart(tmp_path: Path) -> None:
    with a_working_store(tmp_path) as store, store.warehouse.cursor() as cursor:
        one, other = ContentCounts(cursor, "one"), ContentCounts(cursor, "other")
        one.add(hashes(1))
        assert other.count(hashes(1)).to_list() == [0]
