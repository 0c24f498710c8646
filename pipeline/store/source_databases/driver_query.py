"""Query of a database by a driver of PEP 249: its rows in frames."""

import re
from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import SplitResult

import polars as pl

from pipeline.store.source_databases.queries import (
    Query,
    SourceDatabaseError,
    TimeLimit,
    columns_to_read,
)
from pipeline.store.source_databases.warehouse_drivers import Driver

_MOST: Final = 1 << 63
_SECRET: Final = re.compile(r"://[^/\s]*@")


def read_by_driver(
    driver: Driver, address: SplitResult, query: Query, *, rows: int, columns: Sequence[str] | None = None
) -> Generator[pl.DataFrame, None, None]:
    """Yield the rows of a query as frames of at most so many rows; the session is closed however it ends.

    They have the `columns`, or all without any; where one is missing, there are all, and no rows. Whole
    numbers of up to 63 bits, doubles, booleans, dates and times have their types, other values are texts.

    Raises:
        SourceDatabaseError: the driver is missing, the server cannot be reached, or it refuses the query.
    """
    errors = driver.load_errors()
    limit = TimeLimit.of(query)
    try:
        with closing(driver.connect(address, query)) as connection, closing(connection.cursor()) as cursor:
            for statement in query.session:
                cursor.execute(statement)
            cursor.execute(query.remark + query.statement)
            query.note_billed(getattr(cursor, "billed", None))
            names = [column[0] for column in cursor.description or ()]
            chosen, most_rows = columns_to_read(names, columns, query.most_rows)
            yield frame_of(names, []).select(chosen)
            while found := cursor.fetchmany(rows if most_rows is None else min(rows, most_rows)):
                yield frame_of(names, found).select(chosen)
                most_rows = None if most_rows is None else most_rows - len(found)
                if most_rows == 0:
                    return
                if limit is not None and limit.is_over:
                    raise limit.error
    except errors.all as error:
        if limit is not None and limit.is_over:
            raise limit.error from None
        is_lost = isinstance(error, errors.lost)
        raise SourceDatabaseError(_without_secrets(error, address), is_lost=is_lost) from None


def frame_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Build a frame of rows of Python values."""
    values = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame([_series(name, column) for name, column in zip(names, values, strict=True)])


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """Build a column of a type that each value has, or of texts."""
    known = [value for value in values if value is not None]
    if known and all(type(value) is bool for value in known):
        return pl.Series(name, values, pl.Boolean)
    if known and all(type(value) is int and -_MOST <= value < _MOST for value in known):
        return pl.Series(name, values, pl.Int64)
    if known and all(type(value) is float for value in known):
        return pl.Series(name, values, pl.Float64)
    if known and all(isinstance(value, datetime) for value in known):
        return pl.Series(name, values).dt.cast_time_unit("us")
    if known and all(isinstance(value, date) and not isinstance(value, datetime) for value in known):
        return pl.Series(name, values, pl.Date)
    return pl.Series(name, [None if value is None else _text(value) for value in values], pl.String)


def _text(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _without_secrets(error: Exception, address: SplitResult) -> str:
    """Take the first line of an error, without credentials of the address."""
    text = _SECRET.sub("://", str(error).strip().partition("\n")[0])
    for secret in filter(None, (address.password, address.query)):
        text = text.replace(secret, "…")
    return text
