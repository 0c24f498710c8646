"""Columns of a table of sums: counts and numbers, checked row by row."""

from collections.abc import Callable
from typing import Final

import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Converted, Retained, Revenue

VISITORS: Final = "visitors"
# Kinds whose number of conversions follows from nothing else.
_COUNTED: Final = (Converted, Revenue, Retained)


def counts(table: pl.DataFrame, name: str) -> list[int]:
    """Read whole numbers from 0 on, row by row."""
    column = _numeric(table, name, column_errors.not_counts)
    values = column.cast(pl.Float64)
    are_whole = (values >= 0) & (values == values.round(0)) & (values < column_errors.MOST_WHOLE)
    if column.null_count() or not are_whole.all():
        raise InvalidEvidenceError(f"{name!r} holds numbers that are no counts of visitors (0, 1, 2, …)")
    return column.cast(pl.Int64).to_list()


def numbers(table: pl.DataFrame, name: str, power: int = 1) -> list[float]:
    """Read finite numbers, row by row; of squares, products and cubes with their `power`."""
    values = _numeric(table, name, column_errors.not_numbers).cast(pl.Float64)
    if values.null_count() or not values.is_finite().all():
        raise InvalidEvidenceError(f"{name!r} holds numbers that are missing or infinite")
    if (values.abs() > (most := column_errors.MOST_NUMBER**power)).any():
        raise column_errors.numbers_too_large(name, most)
    return values.to_list()


def _numeric(
    table: pl.DataFrame, name: str, error: Callable[[str, object], InvalidEvidenceError]
) -> pl.Series:
    """Take a column of numbers; InvalidEvidenceError, by `error` where it is of another type."""
    column_errors.require_column(name, table.columns)
    column = table[name]
    if not column.dtype.is_numeric():
        raise error(name, column.dtype)
    return column


def conversions_of(table: pl.DataFrame, name: str, kind: FrameGoal) -> list[int]:
    """Read the visitors who converted; those of a mean that is given without them are all with a value."""
    if name in table.columns or isinstance(kind, _COUNTED):
        return counts(table, name)
    return known_of(table, name) or counts(table, VISITORS)


def known_of(table: pl.DataFrame, name: str) -> list[int] | None:
    """Read the visitors whose outcome is known, in `<goal>_visitors`; None without that column."""
    column = f"{name}_visitors"
    return counts(table, column) if column in table.columns else None
