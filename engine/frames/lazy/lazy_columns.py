"""Columns of a lazy table as expressions, and the checks that its engine makes of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

import narwhals as nw

from engine.currencies import minor_units
from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.column_errors import MOST_NUMBER, MOST_TOGETHER, MOST_WHOLE
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Count, Funnel, Mean, Quantile, Ratio, Retained, Revenue, Value
from engine.frames.lazy.engine_queries import flag
from engine.local_days import EPOCH

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Check:
    """A sum over all rows of which `is_broken` says that the column cannot be counted, with the error."""

    total: nw.Expr
    is_broken: Callable[[float], bool]
    error: InvalidEvidenceError


@dataclass(frozen=True, slots=True)
class LazyColumn:
    """A column to be counted, with the checks of its rows; `name` as in the rows of a DataFrame."""

    name: str
    values: nw.Expr
    checks: tuple[Check, ...] = ()


def columns_of_goal(
    schema: nw.Schema, place: int, name: str, kind: FrameGoal, *, currency: str
) -> Iterator[LazyColumn]:
    """Yield the columns of the goal at a place, as `goal_columns` does for a DataFrame, as doubles."""
    if isinstance(kind, Funnel):
        for step, column in enumerate(kind.steps):
            yield _step(schema, column, f"step_{place}_{step}")
    elif isinstance(kind, Ratio):
        for column, part in (("goal", kind.numerator), ("orders", kind.denominator)):
            found = number_column(schema, part, f"{column}_{place}")
            yield replace(found, values=found.values.fill_null(0.0))
    elif isinstance(kind, Revenue):
        yield _cents(schema, name, f"goal_{place}", currency)
    elif isinstance(kind, Count):
        yield _count(schema, name, f"goal_{place}")
    elif isinstance(kind, Value | Mean | Quantile):
        column = kind.column if isinstance(kind, Quantile) else name
        found = number_column(schema, column, f"goal_{place}")
        yield found if kind.may_be_unknown else replace(found, values=found.values.fill_null(0.0))
    else:
        yield flag_column(schema, name, f"goal_{place}", keeps_unknown=isinstance(kind, Retained))


def number_column(schema: nw.Schema, name: str, alias: str) -> LazyColumn:
    """Read numbers of a table without NaN."""
    if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
        raise column_errors.not_numbers(name, schema[name])
    numbers = _doubles(schema, name)
    infinite = Check(flag(numbers.abs() == float("inf")).sum(), bool, column_errors.infinite_numbers(name))
    large = Check(flag(numbers.abs() > MOST_NUMBER).sum(), bool, column_errors.numbers_too_large(name))
    return LazyColumn(alias, numbers, (infinite, large))


def text_column(name: str, alias: str) -> LazyColumn:
    """Read text; empty text is null."""
    return LazyColumn(alias, nw.when(nw.col(name) != "").then(nw.col(name)))


def time_literal(dtype: Any, microseconds: int) -> nw.Expr:  # noqa: ANN401  # narwhals' types of columns
    """Build the literal that a column of times is compared with: the first value not before a moment."""
    moment = EPOCH + timedelta(microseconds=microseconds)
    if dtype == nw.Date:
        day: date = (moment + _DAY - timedelta(microseconds=1)).date()
        return nw.lit(day)
    # Times without a zone are UTC.
    return nw.lit(moment if dtype.time_zone else moment.replace(tzinfo=None))


def _doubles(schema: nw.Schema, name: str) -> nw.Expr:
    column = nw.col(name)
    if schema[name] == nw.Boolean:
        # PostgreSQL casts no truth to a number.
        column = nw.when(column).then(nw.lit(1)).when(~column).then(nw.lit(0))
    return column.cast(nw.Float64)


def flag_column(schema: nw.Schema, name: str, alias: str, *, keeps_unknown: bool = False) -> LazyColumn:
    """Read conversions as 1 or 0; null is 0, or stays where the outcome is not known yet."""
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise column_errors.not_conversions(name, dtype)
    numbers = _doubles(schema, name)
    other = flag((numbers != 0.0) & (numbers != 1.0)).sum()
    check = Check(other, bool, column_errors.other_than_conversions(name))
    return LazyColumn(alias, numbers if keeps_unknown else numbers.fill_null(0.0), (check,))


def _step(schema: nw.Schema, name: str, alias: str) -> LazyColumn:
    """Read the time of a step as it is, and a flag as 1 or null."""
    if isinstance(schema[name], nw.Date | nw.Datetime):
        return LazyColumn(alias, nw.col(name))
    found = flag_column(schema, name, alias)
    return replace(found, values=nw.when(found.values != 0.0).then(found.values))


def _count(schema: nw.Schema, name: str, alias: str) -> LazyColumn:
    """Read whole numbers from 0 on; null is 0."""
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise column_errors.not_counts(name, dtype)
    counts = _doubles(schema, name).fill_null(0.0)
    other = flag((counts < 0.0) | (counts >= MOST_WHOLE) | (counts != _whole(counts.abs()))).sum()
    return LazyColumn(
        alias,
        counts,
        (
            Check(other, bool, column_errors.other_than_counts(name)),
            Check(counts.sum(), _is_beyond_64_bits, column_errors.counts_too_large(name)),
        ),
    )


def _cents(schema: nw.Schema, name: str, alias: str, currency: str) -> LazyColumn:
    """Read amounts in major units as whole minor units, rounded half to even; null is 0."""
    if not schema[name].is_numeric():
        raise column_errors.not_amounts(name, schema[name])
    exact = _doubles(schema, name).fill_null(0.0) * float(minor_units(currency))
    size = exact.abs()
    # Engines round halves differently, and remainders of some are of decimals with fewer digits.
    whole = _whole(size)
    part = size - whole
    half = nw.when(part == 0.5).then(whole - _whole(whole / 2.0) * 2.0).otherwise(nw.lit(0.0))
    rounded = whole + nw.when(part > 0.5).then(nw.lit(1.0)).otherwise(half)
    cents = nw.when(exact < 0.0).then(rounded * -1.0).otherwise(rounded)
    return LazyColumn(
        alias,
        cents,
        (
            Check(flag(size >= MOST_WHOLE).sum(), bool, column_errors.amounts_too_large(name)),
            Check(size.sum(), _is_beyond_64_bits, column_errors.total_too_large(name)),
        ),
    )


def _whole(sizes: nw.Expr) -> nw.Expr:
    """Round down numbers from 0 on, to a double; null for those that are refused as too large."""
    return nw.when(sizes < MOST_WHOLE).then(sizes.floor()).cast(nw.Float64)


def _is_beyond_64_bits(total: float) -> bool:
    return not total < MOST_TOGETHER
