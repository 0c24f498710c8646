"""Locations lead to tables: files, patterns, partitioned folders, databases, lakes."""

import errno
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.sources.locations import find_tables, is_url
from pipeline.sources.tables import LINE, UnreadableSourceError, read_tables
from pipeline.store.source_databases import duckdb_file
from pipeline.store.source_databases.queries import Query

ORDERS = Query(table="orders")


def write(path: Path, *rows: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame({"id": rows})
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
    return path


def rows_at(*locations: str | Path, base: Path = Path()) -> pl.DataFrame:
    chunks = read_tables(find_tables([str(one) for one in locations], base=base))
    return pl.concat([chunk.rows.drop(LINE) for chunk in chunks], how="vertical_relaxed")


def test_a_pattern_finds_files_in_order_also_in_folders_below(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", 2)
    write(tmp_path / "a.parquet", 1)
    write(tmp_path / "deep" / "er" / "c.parquet", 3)
    write(tmp_path / "d.csv", 4)
    assert rows_at(tmp_path / "*.parquet")["id"].to_list() == [1, 2]
    assert rows_at("**/*.parquet", base=tmp_path)["id"].to_list() == [1, 2, 3]


def test_folders_named_by_a_value_are_columns(tmp_path: Path) -> None:
    write(tmp_path / "orders" / "dt=2026-11-20" / "shop=a%20b" / "part.parquet", 1)
    write(tmp_path / "orders" / "dt=2026-11-21" / "shop=__HIVE_DEFAULT_PARTITION__" / "part.csv", 2)
    write(tmp_path / "orders" / "_temporary" / "part.parquet", 3)
    (tmp_path / "orders" / "_SUCCESS").touch()
    expected = {"dt": ["2026-11-20", "2026-11-21"], "shop": ["a b", None]}
    for rows in (rows_at(tmp_path / "orders"), rows_at(tmp_path / "orders" / "dt=*" / "*" / "part.*")):
        assert rows.select("dt", "shop").to_dict(as_series=False) == expected


def test_a_column_of_the_file_stands_before_one_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "orders" / "id=7" / "part.parquet", 1)
    assert rows_at(tmp_path / "orders")["id"].to_list() == [1]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [write(tmp_path / name / "part.csv", 1) for name in ("a", "b")]
    assert [table.name for table in find_tables([str(path) for path in paths])] == [
        str(path) for path in paths
    ]
    assert [table.name for table in find_tables([str(paths[0])])] == ["part.csv"]


def test_a_duckdb_file_is_read_by_table_or_query_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE SCHEMA "my shop"')
        connection.execute('CREATE TABLE "my shop".orders AS SELECT 1 AS id, 12.5::DECIMAL(9, 2) AS paid')
    before = path.read_bytes()
    for query in (Query(table="my shop.orders"), Query(sql='SELECT * FROM "my shop".orders; ')):
        (columns, *chunks) = read_tables(find_tables([str(path)], query=query))
        assert columns.rows.columns == [LINE, "id", "paid"]
        assert [chunk.rows.drop(LINE).rows() for chunk in chunks] == [[(1, "12.50")]]
    assert path.read_bytes() == before
    with pytest.raises(UnreadableSourceError, match="disabled by configuration"):
        list(read_tables(find_tables([str(path)], query=Query(sql="SELECT * FROM read_text('/etc/hosts')"))))


def test_a_schema_with_the_name_of_its_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    for rows in (1, 2):
        (_, chunk) = read_tables(find_tables([str(path)], query=Query(table="shop.orders")))
        assert chunk.rows["id"].to_list() == [rows]
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE SCHEMA IF NOT EXISTS shop.shop")
            connection.execute("CREATE OR REPLACE TABLE shop.shop.orders AS SELECT 2 AS id")


@pytest.mark.parametrize("how", ["replaced", "overwritten", "truncated"])
def test_a_duckdb_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "shop.duckdb", tmp_path / "other.duckdb"
    for file, rows in ((path, 300_000), (other, 310_000)):
        with duckdb.connect(str(file)) as connection:
            connection.execute("CREATE TABLE orders AS SELECT hash(range) AS id FROM range(?)", [rows])

    def change(_connection: object, query: Query) -> Query:
        if how == "replaced":
            other.replace(path)
        else:
            path.write_bytes(other.read_bytes() if how == "overwritten" else b"")
        return query

    # Called once the file is open, before the first of its rows is read.
    monkeypatch.setattr(duckdb_file, "_qualified", change)
    with pytest.raises(
        UnreadableSourceError, match=r"^shop\.duckdb changed while it was read; import it again"
    ):
        next(read_tables(find_tables([str(path)], query=ORDERS)))


def test_a_full_disk_is_said_to_be_that_of_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "shop.duckdb"
    duckdb.connect(str(path)).close()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(duckdb_file, "_copy_rows", fail)
    with pytest.raises(UnreadableSourceError, match=f"no space for a copy of its rows in {tmp_path}; "):
        next(read_tables(find_tables([str(path)], query=ORDERS)))


def test_a_query_that_needs_the_disk_writes_to_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "shop.duckdb", tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    duckdb.connect(str(path)).close()
    where = Query(sql="SELECT current_setting('temp_directory') AS folder")
    (_, chunk) = read_tables(find_tables([str(path)], query=where))
    assert chunk.rows["folder"].to_list() == [str(folder)]


def test_a_duckdb_file_can_be_written_to_while_its_rows_are_used(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT range AS id FROM range(120_000)")
    ids = []
    for chunk in read_tables(find_tables([str(path)], query=ORDERS)):
        ids += chunk.rows["id"].to_list()
        # Refused where the file is open for reading.
        with duckdb.connect(str(path)) as connection:
            connection.execute("UPDATE orders SET id = -1")
    assert ids == list(range(120_000))


def test_databases_on_two_ports_are_two_tables() -> None:
    urls = [f"postgresql://me:pw@host:{port}/db" for port in (5432, 5433)]
    assert [table.name for table in find_tables(urls, query=ORDERS)] == [
        "postgresql://host:5432/db",
        "postgresql://host:5433/db",
    ]
    with pytest.raises(UnreadableSourceError, match="host:5432/db is named twice"):
        find_tables([urls[0], urls[0]], query=ORDERS)


@pytest.mark.parametrize(
    ("location", "query", "why"),
    [
        ("none.csv", None, "there is no file"),
        ("none.duckdb", ORDERS, "there is no file"),
        ("none/*.parquet", None, "no .csv or .parquet file is at none"),
        ("empty", None, "no .csv or .parquet file is at empty"),
        ("there.duckdb", None, "name its table by --table, or give a query by --sql"),
        ("there.csv", ORDERS, "takes no --table or --sql"),
        ("postgresql://me:secret@host/db", None, "postgresql://host/db is a database; name its table"),
        ("s3://key:secret@bucket/a.csv", None, "an address on S3 has no credentials"),
        ("postgresql://me:${MISSING_ONE}@host/db", ORDERS, "no variable MISSING_ONE"),
        ("postgresql://me:secret/1@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:1/secret@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:1?secret@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:1#secret@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:1@secret@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:1[secret@host/db", ORDERS, "percent-encode the password"),
        ("postgresql://me:%zzsecret@127.0.0.1:1/db", ORDERS, "the URL is not one of PostgreSQL"),
    ],
)
def test_a_location_of_nothing_usable_says_why(
    tmp_path: Path, location: str, query: Query | None, why: str
) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "there.csv", 1)
    duckdb.connect(str(tmp_path / "there.duckdb")).close()
    with pytest.raises(UnreadableSourceError, match=why) as raised:
        list(read_tables(find_tables([location], query=query, base=tmp_path)))
    assert "secret" not in str(raised.value)


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 1)
    with pytest.raises(UnreadableSourceError, match="named twice; its rows would count twice"):
        find_tables(["a.csv", "*.csv"], base=tmp_path)


def test_a_variable_of_the_environment_stands_in_a_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.csv", 1)
    monkeypatch.setenv("ORDERS_FOLDER", str(tmp_path))
    assert rows_at("${ORDERS_FOLDER}/a.csv")["id"].to_list() == ["1"]
    assert is_url("postgres://host/db")
    assert not is_url("a.csv")
