"""ClickHouse: Int256, and outer values that are null instead of zero."""

from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect, Expr


def _microseconds(time: Expr) -> Expr:
    precise = exp.Anonymous(this="toDateTime64", expressions=[time, exp.Literal.number(6)])
    return exp.Anonymous(this="toUnixTimestamp64Micro", expressions=[precise])


# A relation that is named twice is written twice before it is planned.
_AST: Final = "SET max_ast_elements = 1000000, max_expanded_ast_elements = 100000000"
CLICKHOUSE: Final = Dialect(
    name="clickhouse",
    wide=exp.DataType.build("INT256"),
    microseconds=_microseconds,
    quotient=lambda number, divisor: exp.Anonymous(this="intDiv", expressions=[number, divisor]),
    timeout="SET max_execution_time = {seconds}",
    settings=("SET join_use_nulls = 1", "SET session_timezone = 'UTC'", _AST),
)
