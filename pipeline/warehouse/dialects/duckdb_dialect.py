"""DuckDB: HUGEINT of 128 bits, and integer division by `//`."""

from typing import Final

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect

DUCKDB: Final = Dialect(
    name="duckdb",
    wide=exp.DataType.build("INT128"),
    microseconds=lambda time: exp.func("EPOCH_US", time),
    quotient=lambda number, divisor: exp.IntDiv(this=number, expression=divisor),
    settings=("SET TimeZone = 'UTC'",),
    is_run=True,
)
