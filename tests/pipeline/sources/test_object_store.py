"""Files and lakes on S3, served by moto."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import deltalake
import moto.settings
import polars as pl
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from pipeline.sources import object_store, tables
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, UnreadableSourceError, read_tables
from tests.pipeline.s3_server import an_s3_server

ORDERS = pl.DataFrame({"id": [1, 2, 3], "paid": [1.5, 2.5, 3.5]})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An S3 server with the bucket `shop`."""
    with an_s3_server("shop") as found:
        system = object_store.file_system()
        for key in ("orders/dt=2026-11-20/part.parquet", "orders/dt=2026-11-21/part.parquet"):
            with system.open_output_stream(f"shop/{key}") as file:
                file.write(_parquet(ORDERS))
        with system.open_output_stream("shop/orders.csv") as file:
            file.write(ORDERS.write_csv().encode())
        yield found


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def rows_at(location: str) -> pl.DataFrame:
    return pl.concat([chunk.rows.drop(LINE) for chunk in read_tables(find_tables([location]))])


@pytest.mark.usefixtures("address")
def test_files_patterns_and_partitioned_folders_are_read_from_s3() -> None:
    assert rows_at("s3://shop/orders.csv")["id"].to_list() == ["1", "2", "3"]
    assert rows_at("s3://shop/orders/dt=2026-11-20/part.parquet").equals(ORDERS)
    for location in ("s3://shop/orders/*/part.parquet", "s3://shop/**/*.parquet", "s3://shop/orders"):
        rows = rows_at(location)
        assert rows["id"].to_list() == [1, 2, 3, 1, 2, 3]
        assert rows["dt"].unique(maintain_order=True).to_list() == ["2026-11-20", "2026-11-21"]


@pytest.mark.usefixtures("address")
def test_an_address_without_files_and_a_missing_bucket_say_so() -> None:
    for location in ("s3://shop/none/*.csv", "s3://shop/none.csv", "s3://nowhere/orders"):
        with pytest.raises(
            UnreadableSourceError, match=r"no \.csv or \.parquet file is at s3://|cannot be listed"
        ):
            find_tables([location])


@pytest.mark.usefixtures("address")
def test_an_object_that_changes_while_it_is_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 1)
    chunks = read_tables(find_tables(["s3://shop/orders.csv"]))
    next(chunks)
    with object_store.file_system().open_output_stream("shop/orders.csv") as file:
        file.write(ORDERS.write_csv().encode())
        file.write(b"4,4.5\n")
    with pytest.raises(UnreadableSourceError, match=r"orders\.csv changed while it was read"):
        list(chunks)


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("place", ["orders.csv", "*.csv", "orders", "delta@v0", "lake/v1.metadata.json"])
def test_credentials_that_s3_refuses_are_told_in_a_sentence(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # From the first request on, keys have to be known.
    monkeypatch.setattr(moto.settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0.0)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")
    with pytest.raises(UnreadableSourceError) as raised:
        rows_at(f"s3://shop/{place}")
    message = str(raised.value)
    assert message.startswith("S3 refuses to show s3://shop")
    assert "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY" in message
    assert "s3cr3t" not in message
    assert "\n" not in message


def test_delta_and_iceberg_tables_are_read_from_s3(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deltalake.write_deltalake(
        "s3://shop/delta",
        ORDERS,
        storage_options={"AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"},
    )
    uri = f"sqlite:///{tmp_path}/catalog.db"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    catalog = SqlCatalog(
        "lake",
        **{
            "uri": uri,
            "warehouse": "s3://shop/lake",
            "s3.endpoint": f"http://{address}",
            "s3.region": "eu-central-1",
        },
    )
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=ORDERS.to_arrow().schema)
    table.append(ORDERS.to_arrow())
    catalog.close()
    assert rows_at("s3://shop/delta").equals(ORDERS)
    # The catalog needs no settings of S3 beside those of the environment.
    for location in ("iceberg://lake/shop.orders", table.metadata_location, "s3://shop/delta@v0"):
        assert rows_at(location).equals(ORDERS)
