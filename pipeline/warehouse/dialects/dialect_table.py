"""Table of dialects by the name of their engine."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pipeline.warehouse.dialects.bigquery_dialect import BIGQUERY
from pipeline.warehouse.dialects.clickhouse_dialect import CLICKHOUSE
from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.dialects.duckdb_dialect import DUCKDB
from pipeline.warehouse.dialects.postgresql_dialect import POSTGRESQL
from pipeline.warehouse.dialects.snowflake_dialect import SNOWFLAKE
from pipeline.warehouse.dialects.spark_dialect import DATABRICKS, SPARK

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "duckdb": DUCKDB,
        "postgresql": POSTGRESQL,
        "clickhouse": CLICKHOUSE,
        "spark": SPARK,
        "databricks": DATABRICKS,
        "snowflake": SNOWFLAKE,
        "bigquery": BIGQUERY,
    }
)
