"""Exchange of rows between Polars and DuckDB."""

import subprocess
import sys

import duckdb
import polars as pl

from pipeline.store.warehouse.arrow_streams import FrameStream, QueryStream

READ_ROWS = """
import duckdb, sys
from pathlib import Path
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse, fetch_frame, registered
import polars as pl
warehouse = Warehouse.open(Settings(data_dir=Path(sys.argv[1])))
with warehouse.cursor() as cursor, registered(cursor, "numbers", pl.DataFrame({"n": [1, 2]})):
    print(fetch_frame(cursor, "SELECT sum(n)::BIGINT AS n FROM numbers")["n"].item())
warehouse.close()
"""


def test_rows_survive_the_way_there_and_back() -> None:
    rows = pl.DataFrame({"n": [1, None], "text": ["a", "b"]}, schema={"n": pl.Int64, "text": pl.String})
    with duckdb.connect() as connection:
        connection.register("rows", FrameStream(rows))
        back = pl.DataFrame(QueryStream(connection.sql("SELECT * FROM rows")))
    assert back.equals(rows)


def test_column_without_a_type_arrives_as_nulls() -> None:
    with duckdb.connect() as connection:
        connection.register("rows", FrameStream(pl.DataFrame({"n": [None, None]})))
        back = pl.DataFrame(
            QueryStream(connection.sql("SELECT count(*) AS total, count(n) AS known FROM rows"))
        )
    assert back.rows() == [(2, 0)]


def test_process_that_read_rows_ends_without_a_report_of_leaks(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_ROWS, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("3\n", "")
