"""Delta and Iceberg tables in folders, each read as of one version."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar, NamedTuple

import deltalake
import polars as pl
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from pipeline.sources import tables
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, UnreadableSourceError, read_tables

ORDERS = pl.DataFrame({"id": range(30), "shop": ["a", "b", "c"] * 10})


def test_a_delta_table_is_read_as_of_one_version(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    deltalake.write_deltalake(folder, ORDERS, partition_by=["shop"])
    chunks = read_tables(find_tables([str(folder)]))
    columns = next(chunks)
    deltalake.write_deltalake(folder, ORDERS, mode="append")
    rows = pl.concat([columns.rows, *(chunk.rows for chunk in chunks)])
    assert rows.drop(LINE).sort("id").equals(ORDERS)
    assert sum(chunk.rows.height for chunk in read_tables(find_tables([str(folder)]))) == 60


def test_a_delta_table_is_read_as_of_a_version_that_is_named(tmp_path: Path) -> None:
    for rows in (ORDERS, ORDERS.head(10)):
        deltalake.write_deltalake(tmp_path / "orders", rows, mode="append")
    assert [height(f"{tmp_path}/orders{at}") for at in ("@v0", "@v1", "")] == [30, 40, 40]
    with pytest.raises(UnreadableSourceError, match=r"^orders@v7 cannot be read: .*version"):
        height(f"{tmp_path}/orders@v7")


def height(location: str) -> int:
    return sum(chunk.rows.height for chunk in read_tables(find_tables([location])))


class Lake(NamedTuple):
    """A SQL catalog by the name `lake`, and its table `shop.orders`."""

    catalog: Catalog
    table: Table


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    with SqlCatalog("lake", uri=uri, warehouse=f"file://{tmp_path}") as catalog:
        catalog.create_namespace("shop")
        yield Lake(catalog, catalog.create_table("shop.orders", schema=ORDERS.to_arrow().schema))


def test_an_iceberg_table_of_a_catalog_is_read_as_of_one_snapshot(lake: Lake) -> None:
    lake.table.append(ORDERS.to_arrow())
    chunks = read_tables(find_tables(["iceberg://lake/shop.orders"]), ["id"])
    columns = next(chunks)
    lake.table.append(ORDERS.to_arrow())
    rows = pl.concat([columns.rows, *(chunk.rows for chunk in chunks)])
    assert rows.drop(LINE).equals(ORDERS.select("id"))
    lake.table.delete("id < 10")
    assert height("iceberg://lake/shop.orders") == 40


def test_the_metadata_file_of_the_highest_number_is_not_taken_for_the_current_one(lake: Lake) -> None:
    lake.table.append(ORDERS.to_arrow())
    folder = Path(lake.table.location().removeprefix("file://"))
    kept = lake.table.metadata_location.removeprefix("file://")
    # A writer that lost the race for the next version leaves its file behind.
    lost = json.loads(Path(kept).read_text())
    lost |= {"current-snapshot-id": -1, "snapshots": [], "refs": {}, "snapshot-log": []}
    (folder / "metadata" / "00099-lost.metadata.json").write_text(json.dumps(lost))
    assert height("iceberg://lake/shop.orders") == height(kept) == 30
    with pytest.raises(UnreadableSourceError, match=r"only its catalog knows.*iceberg://CATALOG/NAMESPACE"):
        find_tables([str(folder)])
    (folder / "metadata" / "version-hint.text").write_text(Path(kept).name)
    assert height(str(folder)) == 30


class _RestCatalog(BaseHTTPRequestHandler):
    """The part of Iceberg's REST specification that loads a table."""

    table: ClassVar[Table]

    def do_GET(self) -> None:
        found = {
            "/v1/config": {"defaults": {}, "overrides": {}},
            "/v1/namespaces/shop/tables/orders": {
                "metadata-location": self.table.metadata_location,
                "metadata": json.loads(self.table.metadata.model_dump_json()),
                "config": {},
            },
        }.get(self.path.partition("?")[0])
        missing = {"error": {"message": "Table does not exist", "type": "NoSuchTableException", "code": 404}}
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(found or missing).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_an_iceberg_table_is_read_through_a_rest_catalog(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.table.append(ORDERS.to_arrow())
    handler = type("Handler", (_RestCatalog,), {"table": lake.table})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PYICEBERG_CATALOG__REST__URI", f"http://127.0.0.1:{server.server_port}")
        assert height("iceberg://rest/shop.orders") == 30
        with pytest.raises(
            UnreadableSourceError, match=r"^iceberg://rest/shop\.none cannot be read: .*does not exist"
        ):
            height("iceberg://rest/shop.none")
        server.shutdown()


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("iceberg://lake/shop.none", "Table does not exist: shop.none"),
        ("iceberg://nowhere/shop.orders", "URI missing"),
        ("iceberg://lake/orders", "write iceberg://CATALOG/NAMESPACE.TABLE"),
    ],
)
@pytest.mark.usefixtures("lake")
def test_a_table_or_catalog_that_is_unknown_is_told_in_a_sentence(location: str, why: str) -> None:
    with pytest.raises(UnreadableSourceError, match=why) as raised:
        height(location)
    assert "\n" not in str(raised.value)


def test_chunks_of_a_lake_are_bounded(tmp_path: Path) -> None:
    assert tables.CHUNK_ROWS == 50_000
    deltalake.write_deltalake(tmp_path / "orders", pl.DataFrame({"id": range(120_000)}))
    heights = [chunk.rows.height for chunk in read_tables(find_tables([str(tmp_path / "orders")]))]
    assert sum(heights) == 120_000
    assert max(heights) <= 50_000
