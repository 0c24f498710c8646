"""Exchange of frames between Polars and DuckDB."""

import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.store.warehouse.connection import fetch_frame, registered
from tests.pipeline.full_disk import no_file_larger_than


def test_what_went_wrong_inside_is_what_is_raised(tmp_path: Path) -> None:
    rows = pl.DataFrame({"number": range(100_000)})
    with duckdb.connect() as cursor:
        cursor.begin()
        with (
            pytest.raises(duckdb.IOException, match="File too large"),
            no_file_larger_than(1_000),
            registered(cursor, "numbers", rows),
        ):
            cursor.execute(f"COPY numbers TO '{tmp_path}/numbers.parquet'")
        cursor.rollback()


def test_a_name_is_forgotten_afterwards() -> None:
    with duckdb.connect() as cursor:
        with registered(cursor, "numbers", pl.DataFrame({"number": [1]})):
            assert cursor.execute("SELECT number FROM numbers").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            cursor.execute("SELECT number FROM numbers")


def test_a_frame_comes_back_as_it_went_in() -> None:
    rows = pl.DataFrame(
        {
            "key": pl.Series([2**64 - 1, 0, None], dtype=pl.UInt64),
            "squares": pl.Series([10**37, -(10**37), None], dtype=pl.Decimal(38, 0)),
            "text": ["🛒", "", None],
            "flag": [True, False, None],
        }
    )
    for frame in (rows, rows.clear(), rows[1:], pl.concat([rows[1:], rows], rechunk=False)):
        with duckdb.connect() as cursor, registered(cursor, "numbers", frame):
            # Twice, since each query reads the stream anew.
            assert fetch_frame(cursor, "SELECT * FROM numbers").equals(frame)
            assert fetch_frame(cursor, "SELECT * FROM numbers").equals(frame)


def test_a_column_of_nothing_but_nulls_needs_no_type() -> None:
    with duckdb.connect() as cursor, registered(cursor, "numbers", pl.DataFrame({"number": [None, None]})):
        assert cursor.execute("SELECT number FROM numbers").fetchall() == [(None,), (None,)]


def test_frames_are_exchanged_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with duckdb.connect() as cursor, registered(cursor, "numbers", pl.DataFrame({"number": [1, 2]})):
        found = fetch_frame(cursor, "SELECT number FROM numbers WHERE number > ?", [1])
    assert found.rows() == [(2,)]
