"""Drivers of warehouses (PEP 249), by the scheme of their addresses; each is a package of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from math import ceil
from types import MappingProxyType
from typing import Any, Final, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote

from pipeline.store.source_databases.queries import Query, SourceDatabaseError

_CONNECT_SECONDS: Final = 10


class Cursor(Protocol):
    """A cursor of PEP 249."""

    description: Sequence[Sequence[Any]] | None

    def execute(self, operation: str, /) -> object:
        """Run a statement."""

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]:
        """Fetch the next rows; none at the end."""

    def close(self) -> None:
        """Give up what is left."""


class Connection(Protocol):
    """A connection of PEP 249."""

    def cursor(self) -> Cursor:
        """Begin a cursor."""

    def close(self) -> None:
        """End the session."""


@dataclass(frozen=True, slots=True)
class DriverErrors:
    """Exceptions of a driver: `all`, and `lost` ones, after which a statement may succeed once more."""

    all: tuple[type[Exception], ...]
    lost: tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A driver: connections to an address for a query, its package, and the module of its exceptions."""

    module: str
    package: str
    connect: Callable[[SplitResult, Query], Connection]
    errors: tuple[str, ...] = ("Error",)
    lost: tuple[str, ...] = ("OperationalError", "InterfaceError")

    def load_errors(self) -> DriverErrors:
        """Import the exceptions of the driver; SourceDatabaseError where it is not installed."""
        try:
            module = import_module(self.module)
        except ImportError:
            message = f"reading this warehouse needs its driver: pip install {self.package}"
            raise SourceDatabaseError(message) from None
        return DriverErrors(
            (*(getattr(module, name) for name in self.errors), OSError),
            (*(getattr(module, name) for name in self.lost), OSError),
        )


def _options(address: SplitResult) -> dict[str, str]:
    return dict(parse_qsl(address.query))


def _credentials(address: SplitResult) -> tuple[str, str]:
    return unquote(address.username or ""), unquote(address.password or "")


def _snowflake(address: SplitResult, query: Query) -> Connection:
    """Connect to `snowflake://USER:PASSWORD@ACCOUNT/DATABASE/SCHEMA?warehouse=…`."""
    user, password = _credentials(address)
    database, _, schema = address.path.strip("/").partition("/")
    named = {"database": database, "schema": schema, "password": password}
    connected: Connection = import_module("snowflake.connector").connect(
        account=address.hostname,
        user=user,
        login_timeout=_CONNECT_SECONDS,
        session_parameters={"QUERY_TAG": query.comment_text},
        **{name: value for name, value in named.items() if value},
        **_options(address),
    )
    return connected


def _databricks(address: SplitResult, _: Query) -> Connection:
    """Connect to `databricks://token:TOKEN@HOST/sql/1.0/warehouses/ID`."""
    connected: Connection = import_module("databricks.sql").connect(
        server_hostname=address.hostname,
        http_path=address.path,
        access_token=_credentials(address)[1] or None,
        **_options(address),
    )
    return connected


def _clickhouse(address: SplitResult, _: Query) -> Connection:
    """Connect to `clickhouse://USER:PASSWORD@HOST:PORT/DATABASE?secure=true`."""
    user, password = _credentials(address)
    connected: Connection = import_module("clickhouse_connect.dbapi").connect(
        host=address.hostname,
        port=address.port,
        username=user,
        password=password,
        database=address.path.strip("/") or None,
        # Settings of one statement hold for the next one.
        autogenerate_session_id=True,
        connect_timeout=_CONNECT_SECONDS,
        **_options(address),
    )
    return connected


def _bigquery(address: SplitResult, query: Query) -> Connection:
    """Connect to `bigquery://PROJECT/DATASET`, with the credentials of the environment."""
    bigquery = import_module("google.cloud.bigquery")
    project, dataset = address.netloc, address.path.strip("/")
    config = bigquery.QueryJobConfig(dry_run=query.is_planned, use_query_cache=False)
    if query.most_bytes is not None:
        config.maximum_bytes_billed = query.most_bytes
    if query.timeout_seconds is not None:
        config.job_timeout_ms = ceil(query.timeout_seconds * 1000)
    if dataset:
        config.default_dataset = f"{project}.{dataset}"
    client = bigquery.Client(project=project, default_query_job_config=config, **_options(address))
    return _BigQueryJobs(client)


class _BigQueryJobs:
    """Jobs of a client as a connection and its cursor: PEP 249's does not tell what they cost."""

    description: Sequence[Sequence[Any]] | None = None
    billed: int | None = None

    def __init__(self, client: Any) -> None:  # noqa: ANN401  # of an optional package
        self._client = client
        self._rows: Iterator[Any] = iter(())

    def cursor(self) -> "Cursor":
        return self

    def execute(self, operation: str, /) -> None:
        job = self._client.query(operation)
        if job.dry_run:
            self.description, self.billed = (), job.total_bytes_processed
            return
        found = job.result()
        self.description = [(field.name,) for field in found.schema]
        self.billed, self._rows = job.total_bytes_billed, iter(found)

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]:
        return [row.values() for row in islice(self._rows, size)]

    def close(self) -> None:
        self._client.close()


DRIVERS: Final[Mapping[str, Driver]] = MappingProxyType(
    {
        "snowflake": Driver(
            module="snowflake.connector.errors", package="snowflake-connector-python", connect=_snowflake
        ),
        "databricks": Driver(
            module="databricks.sql.exc", package="databricks-sql-connector", connect=_databricks
        ),
        "clickhouse": Driver(
            module="clickhouse_connect.dbapi", package="clickhouse-connect", connect=_clickhouse
        ),
        "bigquery": Driver(
            module="google.api_core.exceptions",
            package="google-cloud-bigquery",
            connect=_bigquery,
            errors=("GoogleAPIError",),
            lost=("ServerError", "RetryError"),
        ),
    }
)
