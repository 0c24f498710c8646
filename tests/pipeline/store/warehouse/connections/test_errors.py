"""Errors of DuckDB, as the project tells them apart."""

from pathlib import Path

import duckdb
import pytest

from pipeline.disk_space import DiskFullError
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import is_disk_full, is_fatal
from tests.pipeline.full_disk import no_file_larger_than


def test_a_commit_on_a_full_disk_is_named_so_and_the_next_one_works(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    with warehouse.transaction() as cursor:
        cursor.execute("CREATE TABLE numbers (n VARCHAR)")
    with no_file_larger_than(20_000), pytest.raises(DiskFullError), warehouse.transaction() as cursor:
        cursor.execute("INSERT INTO numbers SELECT uuid()::VARCHAR FROM range(5000)")
    with warehouse.transaction() as cursor:
        cursor.execute("INSERT INTO numbers VALUES ('1')")
        assert cursor.execute("SELECT n FROM numbers").fetchall() == [("1",)]
    warehouse.close()


def test_errors_of_a_query_are_neither(tmp_path: Path) -> None:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    with pytest.raises(duckdb.CatalogException) as failed, warehouse.cursor() as cursor:
        cursor.execute("SELECT * FROM nowhere")
    assert not is_disk_full(failed.value)
    assert not is_fatal(failed.value)
    warehouse.close()
