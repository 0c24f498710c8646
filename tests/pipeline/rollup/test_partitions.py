from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.disk_space import DiskFullError
from pipeline.rollup.partitions import Partitions, partition_files
from pipeline.store.warehouse.event_ranges import buckets
from tests.pipeline.full_disk import no_file_larger_than

KIND = pl.Categorical(pl.Categories.random())
# Keys as hashes are: spread over all of 64 bits.
ROWS = pl.DataFrame(
    {"key": pl.Series([n * 0x9E3779B97F4A7C15 % 2**64 for n in range(1000)], dtype=pl.UInt64)}
)
ROWS = ROWS.with_row_index().with_columns((pl.col("index") % 7).cast(pl.String).cast(KIND).alias("text"))


@pytest.mark.parametrize("at_once", [130, 30], ids=["few parts", "many parts"])
@pytest.mark.parametrize("most_bytes", [0, 5_000, 2**30], ids=["files only", "files and memory", "memory"])
def test_a_part_has_the_rows_of_its_bucket_in_the_order_of_adding(
    tmp_path: Path, most_bytes: int, at_once: int
) -> None:
    every = buckets(1000, at_once)
    with partition_files(tmp_path) as folder:
        parts = Partitions("key", every, folder, most_bytes=most_bytes)
        for start in range(0, 1000, 100):
            parts.add(ROWS[start : start + 100])
        assert folder.exists() == (most_bytes < 2**30)
        for number, bucket in enumerate(every):
            assert_frame_equal(parts.take(number), ROWS.filter(pl.col("key").is_between(*bucket)))
        assert parts.take(0).is_empty()
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    with partition_files(tmp_path) as folder:
        folder.mkdir()
        (folder / "left.arrow").touch()
        with partition_files(tmp_path) as again:
            assert not again.exists()


def test_partitions_that_do_not_fit_the_disk_are_a_full_disk(tmp_path: Path) -> None:
    with partition_files(tmp_path) as folder:
        parts = Partitions("key", buckets(1, 1), folder, most_bytes=0)
        with no_file_larger_than(1_000), pytest.raises(DiskFullError):
            parts.add(ROWS)
    assert list(tmp_path.iterdir()) == []
