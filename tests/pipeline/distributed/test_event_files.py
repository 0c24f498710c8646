"""Files of events that cannot be counted are refused by name."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from pipeline.distributed.event_files import (
    SCHEMA,
    UnusableEventsError,
    count_events,
    counted_until,
    find_files,
    read_batches,
)

EVENTS = SCHEMA.to_frame()


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (EVENTS.drop("visitor_key", "sender"), "a.parquet lacks the columns visitor_key"),
        (EVENTS.cast({"event_key": pl.String}), "String in the column event_key, which has UInt64"),
        (EVENTS.cast({"seq": pl.Datetime("us", "UTC")}), "in the column seq, which has Int64"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, events: pl.DataFrame, said: str) -> None:
    events.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(UnusableEventsError, match=said):
        find_files(tmp_path, "prj")


def test_a_file_that_is_not_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("events")
    with pytest.raises(UnusableEventsError, match="is no Parquet file"):
        find_files(tmp_path, "prj")


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableEventsError, match="no Parquet file of events"):
        find_files(tmp_path, "prj")


def test_times_are_read_as_microseconds(tmp_path: Path) -> None:
    one = pl.DataFrame([{"seq": 7, "received_at": 1_700_000_000_123_456}], schema_overrides=SCHEMA)
    events = one.with_columns(pl.col("received_at").cast(pl.Datetime("us", "UTC")))
    events.write_parquet(tmp_path / "a.parquet")
    assert count_events([tmp_path / "a.parquet"]) == 1
    EVENTS.write_parquet(tmp_path / "b.parquet")
    until = counted_until(tmp_path, [tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert until == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)
    assert counted_until(tmp_path, [tmp_path / "b.parquet"]) is None
    (read,) = read_batches(tmp_path / "a.parquet", ["received_at", "seq"])
    assert read.rows() == [(1_700_000_000_123_456, 7)]


def test_a_column_that_a_later_version_added_is_null(tmp_path: Path) -> None:
    one = pl.DataFrame([{"seq": 7, "country": "DE"}], schema_overrides=SCHEMA, schema=SCHEMA)
    one.drop("language").write_parquet(tmp_path / "a.parquet")
    (path,) = find_files(tmp_path, "prj")
    (read,) = read_batches(path, ["seq", "language", "country"])
    assert read.rows() == [(7, None, "DE")]


def test_a_folder_of_any_name_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "project=prj_1" / "out[1]*"
    folder.mkdir(parents=True)
    pl.DataFrame([{"seq": 7}], schema_overrides=SCHEMA).write_parquet(folder / "a.parquet")
    (read,) = read_batches(folder / "a.parquet", ["seq"])
    assert read["seq"].to_list() == [7]
