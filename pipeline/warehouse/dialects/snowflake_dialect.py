"""Snowflake: NUMBER(38, 0), whose division rounds."""

from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect

SNOWFLAKE: Final = Dialect(
    name="snowflake",
    wide=exp.DataType.build("DECIMAL(38, 0)"),
    microseconds=lambda time: exp.Anonymous(
        this="DATE_PART", expressions=[exp.var("EPOCH_MICROSECOND"), time]
    ),
    explain="EXPLAIN USING TEXT ",
    timeout="ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {seconds}",
    settings=("ALTER SESSION SET TIMEZONE = 'UTC'",),
)
