"""Queries by drivers of warehouses, by stand-ins of their modules, as none of these engines runs here."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from pipeline.sources.databases import DatabaseTable
from pipeline.sources.locations import find_tables
from pipeline.sources.tables import LINE, UnreadableSourceError
from pipeline.store.source_databases.driver_query import frame_of, read_by_driver
from pipeline.store.source_databases.queries import Query, SourceDatabaseError
from pipeline.store.source_databases.warehouse_drivers import DRIVERS

ROWS = [("c1", 3), ("c2", None), ("c3", 5)]


class Refused(Exception):  # noqa: N818  # named by its part here
    """Any error of a driver."""


class Lost(Refused):
    """Error of a lost connection."""


@dataclass
class Server:
    """Connection and cursor of a driver, with the statements that were sent."""

    refuses: str = "nothing"
    error: Exception = field(default_factory=lambda: Refused("table nowhere is unknown\nat line 1"))
    arguments: dict[str, Any] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    closed: int = 0
    description: Sequence[tuple[str, ...]] = (("VISITOR",), ("orders",))

    def connect(self, **arguments: Any) -> "Server":
        self.arguments = arguments
        return self

    def cursor(self) -> "Server":
        return self

    def execute(self, statement: str) -> None:
        self.statements.append(statement)
        if self.refuses in statement:
            raise self.error
        self.left = list(ROWS)

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        found, self.left = self.left[:size], self.left[size:]
        return found

    def close(self) -> None:
        self.closed += 1


def _module(monkeypatch: pytest.MonkeyPatch, name: str, **values: Any) -> None:
    *parents, _ = name.split(".")
    for end in range(1, len(parents) + 1):
        parent = ".".join(parents[:end])
        if parent not in sys.modules:
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    module = ModuleType(name)
    for key, value in values.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Stand in for the drivers of Snowflake, Databricks and ClickHouse."""
    server = Server()

    def to_databricks(server_hostname: str, **more: Any) -> Server:
        return server.connect(server_hostname=server_hostname, **more)

    errors = {"Error": Refused, "OperationalError": Lost, "InterfaceError": Lost}
    _module(monkeypatch, "snowflake.connector", connect=server.connect)
    _module(monkeypatch, "snowflake.connector.errors", **errors)
    _module(monkeypatch, "databricks.sql", connect=to_databricks)
    _module(monkeypatch, "databricks.sql.exc", **errors)
    _module(monkeypatch, "clickhouse_connect.dbapi", connect=server.connect, **errors)
    return server


def _rows(location: str, query: Query, *, size: int = 2) -> list[tuple[Any, ...]]:
    address = urlsplit(location)
    frames = [*read_by_driver(DRIVERS[address.scheme], address, query, rows=size)]
    return [row for frame in frames for row in frame.iter_rows()]


@pytest.mark.parametrize(
    ("location", "arguments"),
    [
        (
            "snowflake://mia:p%40ss@ab12.eu-central-1/shop/public?warehouse=small",
            {
                "account": "ab12.eu-central-1",
                "user": "mia",
                "password": "p@ss",
                "database": "shop",
                "schema": "public",
                "warehouse": "small",
                "login_timeout": 10,
                "session_parameters": {"QUERY_TAG": "truelift prj_1"},
            },
        ),
        (
            "databricks://token:dapi1@shop.example/sql/1.0/warehouses/ab12",
            {
                "server_hostname": "shop.example",
                "http_path": "/sql/1.0/warehouses/ab12",
                "access_token": "dapi1",
            },
        ),
        (
            "clickhouse://mia:secret@shop.example:8443/shop?secure=true",
            {
                "host": "shop.example",
                "port": 8443,
                "username": "mia",
                "password": "secret",
                "database": "shop",
                "secure": "true",
                "autogenerate_session_id": True,
                "connect_timeout": 10,
            },
        ),
    ],
)
def test_a_driver_reads_a_query_in_its_session(
    server: Server, location: str, arguments: dict[str, Any]
) -> None:
    query = Query(sql="SELECT 1;", comment="truelift prj_1", session=("SET a = 1", "SET b = 2"))
    assert _rows(location, query) == ROWS
    assert server.arguments == arguments
    assert server.statements == ["SET a = 1", "SET b = 2", "/* truelift prj_1 */ SELECT 1"]
    # The cursor and its connection.
    assert server.closed == 2


def test_an_error_is_one_line_without_secrets_and_closes_the_session(server: Server) -> None:
    server.refuses, location = "nowhere", "snowflake://mia:secret@ab12/shop?warehouse=small"
    for server.error, is_lost in (
        (Refused("no table for mia:secret\nat line 1"), False),
        (Lost("snowflake://mia:secret@ab12 is gone"), True),
    ):
        server.closed = 0
        with pytest.raises(SourceDatabaseError) as raised:
            _rows(location, Query(sql="SELECT * FROM nowhere"))
        assert raised.value.is_lost is is_lost
        assert "secret" not in str(raised.value)
        assert "\n" not in str(raised.value)
        assert server.closed == 2


def test_columns_are_chosen_and_no_more_rows_are_fetched_than_asked(server: Server) -> None:
    address = urlsplit("clickhouse://shop.example/shop")
    query = Query(sql="SELECT 1", most_rows=2)
    read = [*read_by_driver(DRIVERS["clickhouse"], address, query, rows=10, columns=["orders"])]
    assert [frame.columns for frame in read] == [["orders"], ["orders"]]
    assert [row for frame in read for row in frame.iter_rows()] == [(3,), (None,)]
    assert len(server.left) == 1
    (missing,) = read_by_driver(DRIVERS["clickhouse"], address, query, rows=10, columns=["x"])
    assert (missing.columns, missing.height) == (["VISITOR", "orders"], 0)


def test_values_have_their_types_and_others_are_texts() -> None:
    moment = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    rows = [
        (1, 1.5, True, moment, date(2026, 3, 1), Decimal("1E+3"), 1 << 80, None),
        (None, None, None, None, None, Decimal("2.50"), 2, None),
    ]
    frame = frame_of(["int", "float", "bool", "time", "day", "decimal", "wide", "empty"], rows)
    assert frame.schema == {
        "int": pl.Int64,
        "float": pl.Float64,
        "bool": pl.Boolean,
        "time": pl.Datetime("us", "UTC"),
        "day": pl.Date,
        "decimal": pl.String,
        "wide": pl.String,
        "empty": pl.String,
    }
    assert frame.rows()[0] == (1, 1.5, True, moment, date(2026, 3, 1), "1000", str(1 << 80), None)


def test_bigquery_refuses_by_bytes_and_tells_those_that_it_bills(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, clients = [], []

    class Found(list[Any]):
        schema = (SimpleNamespace(name="visitor"), SimpleNamespace(name="orders"))

    @dataclass
    class Client:
        project: str
        default_query_job_config: SimpleNamespace
        location: str | None = None
        is_closed: bool = False

        def __post_init__(self) -> None:
            clients.append(self)

        def query(self, sql: str) -> SimpleNamespace:
            jobs.append(sql)
            rows = Found(SimpleNamespace(values=lambda row=row: row) for row in ROWS)
            is_dry = self.default_query_job_config.dry_run
            return SimpleNamespace(
                dry_run=is_dry, total_bytes_processed=700, total_bytes_billed=1024, result=lambda: rows
            )

        def close(self) -> None:
            self.is_closed = True

    _module(monkeypatch, "google.cloud.bigquery", Client=Client, QueryJobConfig=SimpleNamespace)
    names = {"GoogleAPIError": Refused, "ServerError": Lost, "RetryError": Lost}
    _module(monkeypatch, "google.api_core.exceptions", **names)
    billed: list[int] = []
    query = Query(sql="SELECT 1", timeout_seconds=1.5, most_bytes=10**9, on_billed=billed.append)
    assert _rows("bigquery://acme/shop?location=EU", query) == ROWS
    planned = Query(sql="SELECT 2", is_planned=True, on_billed=billed.append)
    assert _rows("bigquery://acme", planned) == []
    assert [one.default_query_job_config for one in clients] == [
        SimpleNamespace(
            dry_run=False,
            use_query_cache=False,
            maximum_bytes_billed=10**9,
            job_timeout_ms=1500,
            default_dataset="acme.shop",
        ),
        SimpleNamespace(dry_run=True, use_query_cache=False),
    ]
    assert [(one.project, one.location, one.is_closed) for one in clients] == [
        ("acme", "EU", True),
        ("acme", None, True),
    ]
    assert (jobs, billed) == (["SELECT 1", "SELECT 2"], [1024, 700])


@pytest.mark.parametrize("scheme", DRIVERS)
def test_a_missing_driver_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setitem(sys.modules, DRIVERS[scheme].module, None)
    (table,) = find_tables([f"{scheme}://mia:secret@shop.example/shop"], query=Query(sql="SELECT 1"))
    with pytest.raises(UnreadableSourceError, match=f"pip install {DRIVERS[scheme].package}") as raised:
        [*table.read()]
    assert "secret" not in str(raised.value)


def test_a_warehouse_is_asked_by_a_query_and_not_written_to(server: Server) -> None:
    location = "databricks://token:dapi1@shop.example/sql/1.0/warehouses/ab12"
    with pytest.raises(UnreadableSourceError, match="give a query in its dialect by --sql"):
        find_tables([location], query=Query(table="orders"))
    (table,) = find_tables([location], query=Query(sql="SELECT 1"))
    assert isinstance(table, DatabaseTable)
    assert [row for chunk in table.read() for row in chunk.rows.drop(LINE, strict=False).iter_rows()] == ROWS
    with pytest.raises(UnreadableSourceError, match="is only read"), table.writing():
        pass
