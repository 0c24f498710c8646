"""BigQuery: BIGNUMERIC, as NUMERIC has 29 digits before the point; a dry run in place of EXPLAIN."""

from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect, Expr


def _microseconds(time: Expr) -> Expr:
    moment = exp.Anonymous(this="TIMESTAMP", expressions=[time])
    return exp.Anonymous(this="UNIX_MICROS", expressions=[moment])


BIGQUERY: Final = Dialect(
    name="bigquery",
    wide=exp.DataType.build("BIGDECIMAL"),
    microseconds=_microseconds,
    quotient=lambda number, divisor: exp.Anonymous(this="DIV", expressions=[number, divisor]),
    explain="",
)
