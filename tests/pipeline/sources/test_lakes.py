"""Delta and Iceberg tables in folders, each read as of one version."""

from pathlib import Path

import deltalake
import polars as pl
from pyiceberg.catalog.sql import SqlCatalog

from pipeline.sources import tables
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, read_tables

ORDERS = pl.DataFrame({"id": range(30), "shop": ["a", "b", "c"] * 10})


def test_a_delta_table_is_read_as_of_one_version(tmp_path: Path, monkeypatch: object) -> None:
    folder = tmp_path / "orders"
    deltalake.write_deltalake(folder, ORDERS, partition_by=["shop"])
    chunks = read_tables(find_tables([str(folder)]))
    columns = next(chunks)
    deltalake.write_deltalake(folder, ORDERS, mode="append")
    rows = pl.concat([columns.rows, *(chunk.rows for chunk in chunks)])
    assert rows.drop(LINE).sort("id").equals(ORDERS)
    assert sum(chunk.rows.height for chunk in read_tables(find_tables([str(folder)]))) == 60


def test_an_iceberg_table_is_read_as_of_one_snapshot(tmp_path: Path) -> None:
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=ORDERS.to_arrow().schema)
    table.append(ORDERS.to_arrow())
    folder = table.location().removeprefix("file://")
    chunks = read_tables(find_tables([folder]))
    columns = next(chunks)
    table.append(ORDERS.to_arrow())
    rows = pl.concat([columns.rows, *(chunk.rows for chunk in chunks)])
    assert rows.drop(LINE).equals(ORDERS)
    table.delete("id < 10")
    catalog.close()
    assert sum(chunk.rows.height for chunk in read_tables(find_tables([folder]))) == 40


def test_chunks_of_a_lake_are_bounded(tmp_path: Path) -> None:
    assert tables.CHUNK_ROWS == 50_000
    deltalake.write_deltalake(tmp_path / "orders", pl.DataFrame({"id": range(120_000)}))
    heights = [chunk.rows.height for chunk in read_tables(find_tables([str(tmp_path / "orders")]))]
    assert sum(heights) == 120_000
    assert max(heights) <= 50_000
