"""How frames go in and out of the warehouse."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.store.warehouse.connection import registered
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
