"""Spark and Databricks: DECIMAL(38, 0), which needs ANSI mode to refuse what does not fit."""

from dataclasses import replace
from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect, Expr


def _microseconds(time: Expr) -> Expr:
    return exp.Anonymous(this="UNIX_MICROS", expressions=[exp.cast(time, "TIMESTAMPLTZ")])


SPARK: Final = Dialect(
    name="spark",
    wide=exp.DataType.build("DECIMAL(38, 0)"),
    microseconds=_microseconds,
    # Of decimals `DIV` answers a BIGINT, which every quotient here fits.
    quotient=lambda number, divisor: exp.IntDiv(this=number, expression=divisor),
    settings=(
        "SET spark.sql.ansi.enabled = true",
        "SET spark.sql.session.timeZone = UTC",
        # Its generated code of one stage exceeds what Java takes as a method.
        "SET spark.sql.codegen.wholeStage = false",
    ),
)
DATABRICKS: Final = replace(
    SPARK,
    name="databricks",
    settings=("SET ansi_mode = true", "SET timezone = 'UTC'"),
    timeout="SET statement_timeout = {seconds}",
)
