"""PostgreSQL: NUMERIC without bounds, whose DIV drops the remainder."""

from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect, Expr


def _microseconds(time: Expr) -> Expr:
    return exp.Extract(this=exp.var("EPOCH"), expression=time) * 1_000_000


POSTGRESQL: Final = Dialect(
    name="postgres",
    wide=exp.DataType.build("DECIMAL(38, 0)"),
    microseconds=_microseconds,
    quotient=lambda number, divisor: exp.Anonymous(this="DIV", expressions=[number, divisor]),
    settings=("SET TimeZone = 'UTC'",),
    timeout="SET statement_timeout = '{seconds}s'",
    is_run=True,
)
